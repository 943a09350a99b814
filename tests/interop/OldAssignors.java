import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.lang.reflect.Constructor;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.lang.reflect.Proxy;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Base64;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import org.I0Itec.zkclient.IZkConnection;
import org.I0Itec.zkclient.ZkClient;
import org.I0Itec.zkclient.serialize.ZkSerializer;
import org.apache.zookeeper.KeeperException;
import org.apache.zookeeper.WatchedEvent;
import org.apache.zookeeper.Watcher;
import org.apache.zookeeper.ZooKeeper;
import org.apache.zookeeper.common.PathUtils;

/**
 * Lets the old consumer's own code read a group and assign its partitions, for each member in turn.
 *
 * <p>The code under it is real: registrations are parsed, lists expanded and partitions assigned by the classes of the
 * Kafka version on the class path. Only the connection is not: it serves nodes from memory, in the order of a server.
 *
 * <p>A line of the standard input is a group, its words parted by blanks: assignor, exclude.internal.topics (0 or 1),
 * the number of topics, each topic and its partitions, then each consumer id and its registration in base64. The answer
 * is a line with a word for each member: its id, '=', and "topic:partition>thread," for what it would claim, or "FAIL:"
 * and the exception's class.
 */
public final class OldAssignors {
    private static final Map<String, byte[]> DATA = new HashMap<>();
    private static final Map<String, Set<String>> CHILDREN = new HashMap<>();

    public static void main(String[] none) throws Exception {
        Object reader = reader();
        Constructor<?> context = Class.forName("kafka.consumer.AssignmentContext").getConstructors()[0];
        Object assignors = module("kafka.consumer.PartitionAssignor$");
        Method create = assignors.getClass().getMethod("createInstance", String.class);
        BufferedReader asked = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        PrintStream out = new PrintStream(System.out, false, StandardCharsets.UTF_8);
        for (String line = asked.readLine(); line != null; line = asked.readLine()) {
            String[] words = line.split(" ", -1);
            List<String> members = remember(words);
            StringBuilder answer = new StringBuilder();
            for (String member : members) {
                answer.append(member).append('=');
                try {
                    Object seen = context.newInstance("g", member, words[1].equals("1"), reader);
                    answer.append(claims(create.invoke(assignors, words[0]), seen, member));
                } catch (Throwable error) {
                    Throwable cause = error;
                    while (cause.getCause() != null) cause = cause.getCause();
                    answer.append("FAIL:").append(cause.getClass().getName());
                }
                answer.append(' ');
            }
            out.println(answer);
            out.flush();
        }
        System.exit(0);
    }

    private static String claims(Object assignor, Object context, String member) throws Exception {
        Object assigned = null;
        for (Method method : assignor.getClass().getMethods())
            if (method.getName().equals("assign") && method.getParameterTypes()[0] == context.getClass())
                assigned = method.invoke(assignor, context);
        if (!(assigned instanceof scala.collection.Map)) // from 0.9 on a pool of all members
            assigned = assigned.getClass().getMethod("get", Object.class).invoke(assigned, member);
        Map<String, String> sorted = new TreeMap<>();
        scala.collection.Iterator<?> entries = ((scala.collection.Map<?, ?>) assigned).iterator();
        while (entries.hasNext()) {
            scala.Tuple2<?, ?> entry = (scala.Tuple2<?, ?>) entries.next();
            Object partition = entry._1();
            Object topic = partition.getClass().getMethod("topic").invoke(partition);
            Object number = partition.getClass().getMethod("partition").invoke(partition);
            sorted.put(topic + ":" + number, entry._2().toString());
        }
        StringBuilder text = new StringBuilder();
        sorted.forEach((partition, thread) -> text.append(partition).append('>').append(thread).append(','));
        return text.toString();
    }

    /** ZkUtils where it is a class (from 0.9 on), else the client itself. */
    private static Object reader() throws Exception {
        ZkSerializer serializer = (ZkSerializer) module("kafka.utils.ZKStringSerializer$");
        ZkClient client = new ZkClient(connection(), 5000, serializer);
        for (Method method : Class.forName("kafka.utils.ZkUtils").getMethods())
            if (method.getName().equals("apply") && Modifier.isStatic(method.getModifiers())
                    && method.getParameterCount() == 2 && method.getParameterTypes()[0] == ZkClient.class)
                return method.invoke(null, client, false);
        return client;
    }

    private static Object module(String name) throws Exception {
        return Class.forName(name).getField("MODULE$").get(null);
    }

    private static IZkConnection connection() {
        return (IZkConnection) Proxy.newProxyInstance(IZkConnection.class.getClassLoader(),
                new Class<?>[] {IZkConnection.class}, (proxy, method, arguments) -> {
                    switch (method.getName()) {
                        case "connect":
                            Watcher watcher = (Watcher) arguments[0];
                            new Thread(() -> watcher.process(new WatchedEvent(
                                    Watcher.Event.EventType.None, Watcher.Event.KeeperState.SyncConnected, null))).start();
                            return null;
                        case "getServers": return "memory";
                        case "getZookeeperState": return ZooKeeper.States.CONNECTED;
                        case "getChildren":
                            known((String) arguments[0]);
                            return new ArrayList<>(CHILDREN.getOrDefault((String) arguments[0], Set.of()));
                        case "readData":
                            known((String) arguments[0]);
                            return DATA.get((String) arguments[0]);
                        default: throw new UnsupportedOperationException(method.getName());
                    }
                });
    }

    private static void known(String path) throws KeeperException {
        PathUtils.validatePath(path);
        if (!DATA.containsKey(path)) throw new KeeperException.NoNodeException(path);
    }

    private static List<String> remember(String[] words) {
        DATA.clear();
        CHILDREN.clear();
        put("/brokers/topics", null);
        put("/consumers/g/ids", null);
        int at = 3;
        for (int topics = Integer.parseInt(words[2]); topics > 0; topics--) {
            String topic = words[at++];
            List<String> partitions = new ArrayList<>();
            for (int number = Integer.parseInt(words[at++]) - 1; number >= 0; number--)
                partitions.add("\"" + number + "\":[1]");
            put("/brokers/topics/" + topic,
                    ("{\"version\":1,\"partitions\":{" + String.join(",", partitions) + "}}").getBytes(StandardCharsets.UTF_8));
        }
        List<String> members = new ArrayList<>();
        while (at < words.length) {
            members.add(words[at++]);
            put("/consumers/g/ids/" + members.get(members.size() - 1), Base64.getDecoder().decode(words[at++]));
        }
        return members;
    }

    /** Children in a set of the kind and the size that a server keeps them in. */
    private static void put(String path, byte[] data) {
        DATA.put(path, data);
        int slash = path.lastIndexOf('/');
        if (slash < 0 || path.equals("/")) return;
        String parent = slash == 0 ? "/" : path.substring(0, slash);
        CHILDREN.computeIfAbsent(parent, any -> new HashSet<>(8)).add(path.substring(slash + 1));
        if (!DATA.containsKey(parent)) put(parent, null);
    }
}

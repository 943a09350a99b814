import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Base64;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import org.apache.kafka.clients.consumer.ConsumerPartitionAssignor;
import org.apache.kafka.clients.consumer.ConsumerPartitionAssignor.Assignment;
import org.apache.kafka.clients.consumer.ConsumerPartitionAssignor.GroupSubscription;
import org.apache.kafka.clients.consumer.ConsumerPartitionAssignor.Subscription;
import org.apache.kafka.clients.consumer.CooperativeStickyAssignor;
import org.apache.kafka.clients.consumer.RangeAssignor;
import org.apache.kafka.clients.consumer.RoundRobinAssignor;
import org.apache.kafka.clients.consumer.internals.ConsumerProtocol;
import org.apache.kafka.common.Cluster;
import org.apache.kafka.common.Node;
import org.apache.kafka.common.PartitionInfo;
import org.apache.kafka.common.TopicPartition;

/**
 * Kafka's own assignors, as the leader of a group runs them.
 *
 * <p>A line of the standard input is "subscription", its topics and its owned partitions (each parted by commas, '-' for
 * none) and the generation: answered with the bytes a member sends, in base64. Or it is an assignor's name, the topics
 * with their numbers of partitions ("a=3,b=1"), then for each member its id, its instance ('-' for none) and its
 * subscription in base64: answered with a word for each member: its id, '=', and "topic-partition,".
 */
public final class ConsumerAssignors {
    private static final Node NODE = new Node(0, "localhost", 9092);

    public static void main(String[] none) throws Exception {
        BufferedReader asked = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        PrintStream out = new PrintStream(System.out, false, StandardCharsets.UTF_8);
        for (String line = asked.readLine(); line != null; line = asked.readLine()) {
            String[] words = line.split(" ");
            out.println(words[0].equals("subscription") ? subscription(words) : assignment(words));
            out.flush();
        }
    }

    private static String subscription(String[] words) {
        CooperativeStickyAssignor assignor = new CooperativeStickyAssignor();
        int generation = Integer.parseInt(words[3]);
        List<TopicPartition> owned = partitions(words[2]);
        assignor.onAssignment(
                new Assignment(owned),
                new org.apache.kafka.clients.consumer.ConsumerGroupMetadata("g", generation, "m", Optional.empty()));
        List<String> topics = listed(words[1]);
        ByteBuffer userData = assignor.subscriptionUserData(new HashSet<>(topics));
        Subscription made = new Subscription(topics, userData, owned, generation, Optional.empty());
        return base64(ConsumerProtocol.serializeSubscription(made));
    }

    private static String assignment(String[] words) {
        List<PartitionInfo> infos = new ArrayList<>();
        for (String entry : listed(words[1])) {
            String[] topic = entry.split("=");
            for (int n = 0; n < Integer.parseInt(topic[1]); n++) {
                infos.add(new PartitionInfo(topic[0], n, NODE, new Node[] {NODE}, new Node[] {NODE}));
            }
        }
        Cluster cluster = new Cluster("c", List.of(NODE), infos, new HashSet<>(), new HashSet<>());
        Map<String, Subscription> members = new HashMap<>();
        for (int at = 2; at < words.length; at += 3) {
            ByteBuffer sent = ByteBuffer.wrap(Base64.getDecoder().decode(words[at + 2]));
            Subscription read = ConsumerProtocol.deserializeSubscription(sent);
            read.setGroupInstanceId(words[at + 1].equals("-") ? Optional.empty() : Optional.of(words[at + 1]));
            members.put(words[at], read);
        }
        StringBuilder answer = new StringBuilder();
        Map<String, Assignment> assigned =
                assignor(words[0]).assign(cluster, new GroupSubscription(members)).groupAssignment();
        for (Map.Entry<String, Assignment> member : new TreeMap<>(assigned).entrySet()) {
            answer.append(member.getKey()).append('=');
            for (TopicPartition partition : member.getValue().partitions()) answer.append(partition).append(',');
            answer.append(' ');
        }
        return answer.toString().trim();
    }

    private static ConsumerPartitionAssignor assignor(String name) {
        if (name.equals("range")) return new RangeAssignor();
        return name.equals("roundrobin") ? new RoundRobinAssignor() : new CooperativeStickyAssignor();
    }

    private static List<String> listed(String word) {
        return word.equals("-") ? List.of() : List.of(word.split(","));
    }

    private static List<TopicPartition> partitions(String word) {
        List<TopicPartition> found = new ArrayList<>();
        for (String each : listed(word)) {
            int hyphen = each.lastIndexOf('-');
            found.add(new TopicPartition(each.substring(0, hyphen), Integer.parseInt(each.substring(hyphen + 1))));
        }
        return found;
    }

    private static String base64(ByteBuffer buffer) {
        byte[] bytes = new byte[buffer.remaining()];
        buffer.get(bytes);
        return Base64.getEncoder().encodeToString(bytes);
    }
}

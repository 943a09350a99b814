import java.io.FileDescriptor;
import java.io.FileOutputStream;
import java.io.IOException;
import java.lang.reflect.Field;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.TreeMap;
import java.util.concurrent.atomic.AtomicReference;

import kafka.consumer.Blacklist;
import kafka.consumer.Consumer;
import kafka.consumer.ConsumerConfig;
import kafka.consumer.ConsumerIterator;
import kafka.consumer.ConsumerThreadId;
import kafka.consumer.KafkaStream;
import kafka.consumer.Whitelist;
import kafka.javaapi.consumer.ConsumerConnector;
import kafka.message.MessageAndMetadata;

/**
 * One consumer of Kafka 0.8 - 1.1 that keeps its group in ZooKeeper.
 *
 * <p>Arguments: {@code static t1=2 t2=2 ...}, {@code white_list REGEX=2} or {@code black_list REGEX=2}, then
 * {@code --} and the consumer's properties, each as {@code name=value}.
 *
 * <p>Standard output, a line each: {@code topic partition offset} for every record, and
 * {@code #started ID}, {@code #ready ID}, {@code #released}, {@code #assigned topic-partition=thread ...},
 * {@code #in_hand topic partition offset}, {@code #failed ...}, {@code #closed}. It ends by itself when its standard
 * input does, so that it does not outlive the process that started it.
 *
 * <p>SIGTERM ends it without reading anything twice. That takes more than shutdown(), which commits and closes
 * while the streams still hand out the rest of the chunk they are in: first no stream takes a further record.
 *
 * <p>A rebalance is not kept from reading one record of a stream twice, by Kafka's own doing: hasNext() takes the
 * record out of its chunk, the rebalance empties the chunk and commits what next() has returned, without the record,
 * and then next() returns it. The next owner of the partition begins with it. Such a record is called in hand.
 */
public final class OldConsumer {
    private static final FileOutputStream OUT = new FileOutputStream(FileDescriptor.out);
    private static final Object GATE = new Object();
    private static boolean stopping = false;

    public static void main(String[] arguments) throws Exception {
        Map<String, Integer> subscription = new HashMap<>();
        Properties properties = new Properties();
        boolean isProperty = false;
        for (int i = 1; i < arguments.length; i++) {
            int cut = arguments[i].lastIndexOf('=');
            if (arguments[i].equals("--")) {
                isProperty = true;
            } else if (isProperty) {
                cut = arguments[i].indexOf('=');
                properties.put(arguments[i].substring(0, cut), arguments[i].substring(cut + 1));
            } else {
                subscription.put(arguments[i].substring(0, cut), Integer.valueOf(arguments[i].substring(cut + 1)));
            }
        }
        ConsumerConnector connector = Consumer.createJavaConsumerConnector(new ConsumerConfig(properties));
        String id = consumerId(connector);
        say("#started " + id);
        Runtime.getRuntime().addShutdownHook(new Thread(() -> {
            synchronized (GATE) {
                stopping = true;
            }
            connector.shutdown();
            say("#closed");
        }));
        Thread parent = new Thread(OldConsumer::endWithParent, "parent");
        parent.setDaemon(true);
        parent.start();
        listen(connector);
        try {
            List<KafkaStream<byte[], byte[]>> streams = streams(connector, arguments[0], subscription);
            say("#ready " + id);
            for (KafkaStream<byte[], byte[]> stream : streams) {
                new Thread(() -> read(stream.iterator())).start();
            }
        } catch (RuntimeException error) {
            // Most often: it could not rebalance. It stays registered and tries again at the group's next change.
            say("#failed " + error);
        }
        Thread.currentThread().join();
    }

    private static List<KafkaStream<byte[], byte[]>> streams(
            ConsumerConnector connector, String pattern, Map<String, Integer> subscription) {
        List<KafkaStream<byte[], byte[]>> streams = new ArrayList<>();
        if (pattern.equals("static")) {
            connector.createMessageStreams(subscription).values().forEach(streams::addAll);
            return streams;
        }
        Map.Entry<String, Integer> only = subscription.entrySet().iterator().next();
        boolean white = pattern.equals("white_list");
        streams.addAll(connector.createMessageStreamsByFilter(
                white ? new Whitelist(only.getKey()) : new Blacklist(only.getKey()), only.getValue()));
        return streams;
    }

    private static void read(ConsumerIterator<byte[], byte[]> records) {
        AtomicReference<?> chunk = chunkOf(records);
        while (records.hasNext()) {
            synchronized (GATE) {
                if (stopping) {
                    return;
                }
                // From here on the record counts as consumed and is committed.
                MessageAndMetadata<byte[], byte[]> record = records.next();
                String text = record.topic() + " " + record.partition() + " " + record.offset();
                say(text);
                if (chunk.get() == null) {
                    // Only a rebalance takes it away.
                    say("#in_hand " + text);
                }
            }
        }
    }

    private static AtomicReference<?> chunkOf(ConsumerIterator<byte[], byte[]> records) {
        try {
            Field field = ConsumerIterator.class.getDeclaredField("current");
            field.setAccessible(true);
            return (AtomicReference<?>) field.get(records);
        } catch (ReflectiveOperationException error) {
            throw new IllegalStateException("an iterator of Kafka 0.8 - 1.1 has its chunk in `current`", error);
        }
    }

    /** One write call a line: a kill leaves whole lines. */
    private static synchronized void say(String line) {
        try {
            OUT.write((line + "\n").getBytes(StandardCharsets.UTF_8));
        } catch (IOException error) {
            Runtime.getRuntime().halt(1);
        }
    }

    private static void endWithParent() {
        try {
            while (System.in.read() >= 0) {
                continue;
            }
        } catch (IOException error) {
            // as good as its end
        }
        System.exit(0);
    }

    private static String consumerId(Object connector) throws ReflectiveOperationException {
        for (Field field : connector.getClass().getDeclaredFields()) {
            if (field.getName().endsWith("underlying")) {
                field.setAccessible(true);
                Object inner = field.get(connector);
                return (String) inner.getClass().getMethod("consumerIdString").invoke(inner);
            }
        }
        throw new NoSuchFieldException("underlying");
    }

    /** The listener came with 0.9: by reflection, so that this compiles against 0.8.2 too. */
    private static void listen(ConsumerConnector connector) throws ReflectiveOperationException {
        Class<?> listener;
        try {
            listener = Class.forName("kafka.javaapi.consumer.ConsumerRebalanceListener");
        } catch (ClassNotFoundException error) {
            return;
        }
        Object told = Proxy.newProxyInstance(
                listener.getClassLoader(), new Class<?>[] {listener}, (proxy, method, args) -> told(proxy, method, args));
        connector.getClass().getMethod("setConsumerRebalanceListener", listener).invoke(connector, told);
    }

    private static Object told(Object proxy, Method method, Object[] arguments) {
        switch (method.getName()) {
            case "beforeReleasingPartitions":
                say("#released");
                return null;
            case "beforeStartingFetchers":
                say("#assigned" + assigned(String.valueOf(arguments[0]), (Map<?, ?>) arguments[1]));
                return null;
            case "hashCode":
                return System.identityHashCode(proxy);
            case "equals":
                return proxy == arguments[0];
            default:
                return "listener";
        }
    }

    private static String assigned(String id, Map<?, ?> byTopic) {
        StringBuilder text = new StringBuilder();
        new TreeMap<Object, Object>(byTopic).forEach((topic, byPartition) ->
                new TreeMap<Object, Object>((Map<?, ?>) byPartition).forEach((partition, thread) -> {
                    if (((ConsumerThreadId) thread).consumer().equals(id)) {
                        text.append(' ').append(topic).append('-').append(partition).append('=').append(thread);
                    }
                }));
        return text.toString();
    }
}

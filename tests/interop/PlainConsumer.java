import java.time.Duration;
import java.util.Collection;
import java.util.List;
import java.util.Properties;
import java.util.concurrent.atomic.AtomicBoolean;
import org.apache.kafka.clients.consumer.ConsumerRebalanceListener;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.ConsumerRecords;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.errors.RebalanceInProgressException;

/**
 * An ordinary consumer: it prints what it was given, then commits it, at the latest when it loses the partition.
 *
 * <p>Arguments: bootstrap servers, group, topic, isolation level; "consumer" for the protocol of KIP-848. Lines of the standard output: "record topic partition offset",
 * "assigned n", "revoked n". It closes when its standard input ends.
 */
public final class PlainConsumer {
    public static void main(String[] arguments) throws Exception {
        Properties settings = new Properties();
        settings.put("bootstrap.servers", arguments[0]);
        settings.put("group.id", arguments[1]);
        settings.put("client.id", "plain-jvm");
        settings.put("enable.auto.commit", "false");
        settings.put("auto.offset.reset", "earliest");
        settings.put("isolation.level", arguments[3]);
        settings.put("max.poll.records", "20");
        settings.put("key.deserializer", "org.apache.kafka.common.serialization.ByteArrayDeserializer");
        settings.put("value.deserializer", "org.apache.kafka.common.serialization.ByteArrayDeserializer");
        if (arguments.length > 4) {
            settings.put("group.protocol", arguments[4]);
        } else {
            settings.put("session.timeout.ms", "6000");
            settings.put("heartbeat.interval.ms", "200");
            settings.put(
                    "partition.assignment.strategy", "org.apache.kafka.clients.consumer.CooperativeStickyAssignor");
        }
        AtomicBoolean ended = new AtomicBoolean();
        Thread reader = new Thread(() -> {
            try {
                while (System.in.read() >= 0) {}
            } catch (java.io.IOException gone) {
                // The same as its end.
            }
            ended.set(true);
        });
        reader.setDaemon(true);
        reader.start();
        try (KafkaConsumer<byte[], byte[]> consumer = new KafkaConsumer<>(settings)) {
            consumer.subscribe(List.of(arguments[2]), new Told(consumer));
            boolean owes = false;
            while (!ended.get()) {
                ConsumerRecords<byte[], byte[]> records = consumer.poll(Duration.ofMillis(100));
                StringBuilder told = new StringBuilder();
                for (ConsumerRecord<byte[], byte[]> record : records) {
                    told.append("record ").append(record.topic()).append(' ').append(record.partition());
                    told.append(' ').append(record.offset()).append('\n');
                }
                System.out.print(told);
                System.out.flush();
                owes |= !records.isEmpty();
                try {
                    if (owes) consumer.commitSync();
                    owes = false;
                } catch (RebalanceInProgressException waits) {
                    // The brokers take nothing while they wait for a member that is slow to join.
                }
            }
        }
    }

    private static final class Told implements ConsumerRebalanceListener {
        private final KafkaConsumer<byte[], byte[]> consumer;

        Told(KafkaConsumer<byte[], byte[]> consumer) {
            this.consumer = consumer;
        }

        @Override
        public void onPartitionsAssigned(Collection<TopicPartition> partitions) {
            System.out.println("assigned " + partitions.size());
        }

        @Override
        public void onPartitionsRevoked(Collection<TopicPartition> partitions) {
            consumer.commitSync();
            System.out.println("revoked " + partitions.size());
        }
    }
}

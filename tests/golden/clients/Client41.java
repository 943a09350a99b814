import java.io.File;
import java.io.FileOutputStream;
import java.nio.ByteBuffer;
import org.apache.kafka.common.header.Header;
import org.apache.kafka.common.header.internals.RecordHeader;
import org.apache.kafka.common.compress.Compression;
import org.apache.kafka.common.record.ControlRecordType;
import org.apache.kafka.common.record.EndTransactionMarker;
import org.apache.kafka.common.record.MemoryRecords;
import org.apache.kafka.common.record.SimpleRecord;

/** What the clients of Kafka 4 write: batches, and a transaction that is aborted between two that are not. */
public class Client41 {
    public static void main(String[] arguments) throws Exception {
        for (byte magic = 2; magic <= 2; magic++) {
            for (String codec : new String[] {"none", "gzip", "snappy", "lz4", "zstd"}) {
                SimpleRecord[] made = new SimpleRecord[4];
                for (int n = 0; n < 4; n++) {
                    byte[] key = n == 1 ? null : ("key-" + n).getBytes("UTF-8");
                    byte[] value = n == 2 ? new byte[0] : n == 3 ? null : value(n);
                    made[n] = new SimpleRecord(1600000000000L + n, key, value, headers(magic == 2 ? n : 0));
                }
                MemoryRecords records =
                    MemoryRecords.withRecords(magic, 0L, Compression.of(codec).build(), made);
                ByteBuffer buffer = records.buffer();
                byte[] bytes = new byte[buffer.remaining()];
                buffer.get(bytes);
                String name = arguments[1] + "-magic" + magic + "-" + codec + ".bin";
                try (FileOutputStream out = new FileOutputStream(new File(arguments[0], name))) {
                    out.write(bytes);
                }
                transactions(arguments, codec);
            }
        }
    }

    static void transactions(String[] arguments, String codec) throws Exception {
        String name = arguments[1] + "-transactions-" + codec + ".bin";
        try (FileOutputStream out = new FileOutputStream(new File(arguments[0], name))) {
            for (int n = 0; n < 3; n++) {
                ControlRecordType end = n == 1 ? ControlRecordType.ABORT : ControlRecordType.COMMIT;
                SimpleRecord one = new SimpleRecord(1600000000000L, value(n));
                MemoryRecords[] both = {
                    MemoryRecords.withTransactionalRecords(
                        2L * n, Compression.of(codec).build(), 7L, (short) 0, n, 0, one),
                    MemoryRecords.withEndTransactionMarker(
                        2L * n + 1, 1600000000000L, 0, 7L, (short) 0, new EndTransactionMarker(end, 0)),
                };
                for (MemoryRecords records : both) {
                    ByteBuffer buffer = records.buffer();
                    byte[] bytes = new byte[buffer.remaining()];
                    buffer.get(bytes);
                    out.write(bytes);
                }
            }
        }
    }

    static Header[] headers(int n) throws Exception {
        Header[] made = new Header[n];
        for (int i = 0; i < n; i++) {
            made[i] = new RecordHeader("h\u00e9-" + i, i == 0 ? new byte[] {1} : i == 1 ? null : new byte[0]);
        }
        return made;
    }

    static byte[] value(int n) throws Exception {
        StringBuilder text = new StringBuilder();
        for (int i = 0; i < 20; i++) {
            text.append("value-").append(n).append(' ');
        }
        return text.toString().getBytes("UTF-8");
    }
}

import java.io.File;
import java.io.FileOutputStream;
import java.nio.ByteBuffer;
import org.apache.kafka.common.header.Header;
import org.apache.kafka.common.header.internals.RecordHeader;
import org.apache.kafka.common.record.CompressionType;
import org.apache.kafka.common.record.MemoryRecords;
import org.apache.kafka.common.record.SimpleRecord;
import org.apache.kafka.common.record.TimestampType;

/** What the clients of Kafka 0.11 to 1.1 write, in every format they know. */
public class Client11 {
    public static void main(String[] arguments) throws Exception {
        for (byte magic = 0; magic <= 2; magic++) {
            for (String codec : new String[] {"none", "gzip", "snappy", "lz4"}) {
                SimpleRecord[] made = new SimpleRecord[4];
                for (int n = 0; n < 4; n++) {
                    byte[] key = n == 1 ? null : ("key-" + n).getBytes("UTF-8");
                    byte[] value = n == 2 ? new byte[0] : n == 3 ? null : value(n);
                    made[n] = new SimpleRecord(1600000000000L + n, key, value, headers(magic == 2 ? n : 0));
                }
                CompressionType type = CompressionType.forName(codec);
                MemoryRecords records =
                    MemoryRecords.withRecords(magic, 0L, type, TimestampType.CREATE_TIME, made);
                ByteBuffer buffer = records.buffer();
                byte[] bytes = new byte[buffer.remaining()];
                buffer.get(bytes);
                String name = arguments[1] + "-magic" + magic + "-" + codec + ".bin";
                try (FileOutputStream out = new FileOutputStream(new File(arguments[0], name))) {
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

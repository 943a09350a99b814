import java.io.File;
import java.io.FileOutputStream;
import java.nio.ByteBuffer;
import org.apache.kafka.common.record.CompressionType;
import org.apache.kafka.common.record.MemoryRecords;

/** What the producer of Kafka 0.8.2 and 0.9 sends: message sets of magic 0. */
public class Client08 {
    public static void main(String[] arguments) throws Exception {
        for (String codec : new String[] {"none", "gzip", "snappy", "lz4"}) {
            MemoryRecords records =
                MemoryRecords.emptyRecords(ByteBuffer.allocate(1 << 16), CompressionType.forName(codec));
            for (int n = 0; n < 4; n++) {
                byte[] key = n == 1 ? null : ("key-" + n).getBytes("UTF-8");
                byte[] value = n == 2 ? new byte[0] : n == 3 ? null : value(n);
                records.append(n, key, value);
            }
            records.close();
            ByteBuffer buffer = records.buffer();
            if (buffer.position() > 0) {
                buffer.flip();
            }
            byte[] bytes = new byte[buffer.remaining()];
            buffer.get(bytes);
            File file = new File(arguments[0], arguments[1] + "-magic0-" + codec + ".bin");
            try (FileOutputStream out = new FileOutputStream(file)) {
                out.write(bytes);
            }
        }
    }

    static byte[] value(int n) throws Exception {
        StringBuilder text = new StringBuilder();
        for (int i = 0; i < 20; i++) {
            text.append("value-").append(n).append(' ');
        }
        return text.toString().getBytes("UTF-8");
    }
}

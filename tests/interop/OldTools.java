import java.io.BufferedReader;
import java.io.ByteArrayOutputStream;
import java.io.InputStreamReader;
import java.io.OutputStream;
import java.io.PrintStream;
import java.lang.reflect.InvocationTargetException;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;

/**
 * Runs Kafka's own command line tools, one after the other, without a new JVM for each.
 *
 * <p>Each line of the standard input is a class and its arguments, with tabs between. What the tool printed follows
 * on the standard output, then a line {@code #done}.
 */
public final class OldTools {
    private static final ByteArrayOutputStream PRINTED = new ByteArrayOutputStream();

    public static void main(String[] none) throws Exception {
        PrintStream out = System.out;
        // Before any class of the tools is loaded: Scala's println keeps the stream it finds first.
        System.setOut(new PrintStream((OutputStream) PRINTED, true, StandardCharsets.UTF_8));
        BufferedReader asked = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = asked.readLine(); line != null; line = asked.readLine()) {
            String[] words = line.split("\t");
            PRINTED.reset();
            try {
                Class.forName(words[0]).getMethod("main", String[].class)
                        .invoke(null, (Object) Arrays.copyOfRange(words, 1, words.length));
            } catch (InvocationTargetException error) {
                System.out.println("failed: " + error.getCause());
            }
            System.out.flush();
            out.write(PRINTED.toByteArray());
            out.print("\n#done\n");
            out.flush();
        }
        // The tools leave threads behind.
        System.exit(0);
    }
}

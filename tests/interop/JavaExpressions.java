import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.Base64;
import java.util.regex.Pattern;
import java.util.regex.PatternSyntaxException;

/**
 * Matches names against expressions with java.util.regex.
 *
 * <p>The first line of the standard input has the names, parted by blanks, each further line an expression in base64.
 * The answer to each is a line of 1 and 0, a digit for each name, or "refused" or "failed".
 */
public final class JavaExpressions {
    public static void main(String[] none) throws Exception {
        BufferedReader asked = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        PrintStream out = new PrintStream(System.out, false, StandardCharsets.UTF_8);
        String[] names = asked.readLine().split(" ");
        for (String line = asked.readLine(); line != null; line = asked.readLine()) {
            StringBuilder answer = new StringBuilder();
            try {
                Pattern pattern = Pattern.compile(new String(Base64.getDecoder().decode(line), StandardCharsets.UTF_8));
                for (String name : names) answer.append(pattern.matcher(name).matches() ? '1' : '0');
            } catch (PatternSyntaxException error) {
                answer.append("refused");
            } catch (RuntimeException error) {
                answer.append("failed"); // a fault of java.util.regex, met in matching
            }
            out.println(answer);
        }
        out.flush();
    }
}

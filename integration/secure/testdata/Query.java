import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.ResultSet;
import java.sql.Statement;

/** Sends statements to a database, and prints the rows that they return. */
public class Query {
  public static void main(String[] args) throws Exception {
    Class.forName("org.apache.hive.jdbc.HiveDriver");
    try (Connection c = DriverManager.getConnection(args[0]); Statement s = c.createStatement()) {
      for (int i = 1; i < args.length; i++) {
        if (!s.execute(args[i])) {
          continue;
        }
        ResultSet r = s.getResultSet();
        while (r.next()) {
          System.out.println(r.getString(1) + "\t" + r.getString(2));
        }
      }
    }
  }
}

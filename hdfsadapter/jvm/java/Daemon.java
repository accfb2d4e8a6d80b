package heddle.javahost;

import java.io.IOException;
import org.apache.hadoop.security.SecurityUtil;
import org.apache.hadoop.security.UserGroupInformation;
import org.apache.hadoop.yarn.conf.YarnConfiguration;

/** What programs that work for a ResourceManager begin with. */
final class Daemon {
  private Daemon() {}

  /** Reads the configuration, and logs in as the ResourceManager where the cluster has Kerberos. */
  static YarnConfiguration begin(Wire.Reader r) throws IOException {
    YarnConfiguration conf = new YarnConfiguration();
    String[] set = r.texts();
    for (int i = 0; i + 1 < set.length; i += 2) {
      conf.set(set[i], set[i + 1]);
    }
    String host = r.text();
    UserGroupInformation.setConfiguration(conf);
    if (UserGroupInformation.isSecurityEnabled()) {
      SecurityUtil.login(conf, YarnConfiguration.RM_KEYTAB, YarnConfiguration.RM_PRINCIPAL, host);
    }
    return conf;
  }
}

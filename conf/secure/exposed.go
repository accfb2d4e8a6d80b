package secure

import (
	"fmt"
	"os"

	"heddle/conf"
)

// secrets are the files with keys of daemons, by the roles that read them.
var secrets = []struct {
	by  conf.Role
	key string
}{
	{conf.ResourceManager, ManagerKeytab},
	{conf.NodeManager, NodeKeytab},
	{conf.ResourceManager, "yarn.resourcemanager.webapp.spnego-keytab-file"},
	{conf.NodeManager, "yarn.nodemanager.webapp.spnego-keytab-file"},
	{conf.ResourceManager | conf.NodeManager, "hadoop.http.authentication.kerberos.keytab"},
	{conf.ResourceManager | conf.NodeManager, "hadoop.http.authentication.signature.secret.file"},
}

// Exposed warns of keytabs, and of the secret of cookies, that every user of the machine may read: their reader can act as the daemon. A group may read
// them, as it must where daemons share a keytab.
func Exposed(c *conf.Config, roles conf.Role) (all []conf.Problem) {
	for _, s := range secrets {
		name := c.Text(s.key)
		if s.by&roles == 0 || name == "" {
			continue
		}
		st, err := os.Stat(name) // its reader says if it is missing
		if err != nil || st.Mode().Perm()&0o004 == 0 {
			continue
		}
		all = append(all, conf.AtKey(c, conf.Warning, s.key, fmt.Errorf("every user of this machine may read %s, and be this daemon with it (mode %04o): chmod o-r %[1]s, and have new keys made if there are others here", name, st.Mode().Perm())))
	}
	return all
}

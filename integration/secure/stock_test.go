package secure

import (
	"context"
	"maps"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"heddle/integration/hadooplab"
)

var submitted = regexp.MustCompile(`application_\d+_\d+`)

// Hadoop's commands and jobs work with Heddle's daemons, and with one of Hadoop's beside them, with all qualities of protection.
func TestStockWithKerberos(t *testing.T) {
	hadooplab.SkipUnlessFull(t)
	for name, x := range map[string]struct{ protection, stock string }{
		"Heddle":                                   {"authentication", ""},
		"Heddle with privacy":                      {"privacy", ""},
		"Heddle with integrity":                    {"integrity", ""},
		"a NodeManager of Hadoop":                  {"authentication", "nm"},
		"a NodeManager of Hadoop with privacy":     {"privacy", "nm"},
		"a ResourceManager of Hadoop":              {"authentication", "rm"},
		"a ResourceManager of Hadoop with privacy": {"privacy", "rm"},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRealm(t, 10*time.Hour)
			site := maps.Clone(r.site)
			site["hadoop.rpc.protection"] = x.protection
			site["yarn.resourcemanager.connect.max-wait.ms"] = "150000"
			site["yarn.nodemanager.env-whitelist"] = "PATH,JAVA_HOME,JAVA_TOOL_OPTIONS,HADOOP_CONF_DIR"
			l := hadooplab.Start(t, hadooplab.Options{ResourceManager: true, NodeManagers: 1, Heddle: heddle, Stock: x.stock, Site: site})
			run := func(want string, args ...string) string {
				t.Helper()
				ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
				defer cancel()
				res, err := l.Try(ctx, "", args...)
				if err != nil || !strings.Contains(res.Stdout+res.Stderr, want) {
					t.Fatalf("%q: %v, exit code %d, want %q\n%s\n%s", args, err, res.Code, want, res.Stdout, res.Stderr)
				}
				return res.Stdout + res.Stderr
			}
			run("Total Nodes:1", "yarn", "node", "-list")
			run("is not authorized for protocol interface org.apache.hadoop.yarn.server.api.ResourceManagerAdministrationProtocolPB: denied by configured ACL", refused(t, r, l)...)
			shell, err := l.Jar("hadoop-yarn-applications-distributedshell")
			if err != nil {
				t.Fatal(err)
			}
			out := run("Application completed successfully", "class", "org.apache.hadoop.yarn.applications.distributedshell.Client", "-jar", shell,
				"-shell_command", "date", "-num_containers", "1", "-master_memory", "512", "-container_memory", "128")
			app := submitted.FindString(out)
			if got, err := command(t, l, "application", "-status", app); err != nil || !strings.Contains(got, "User : alice") || !strings.Contains(got, "Final-State : SUCCEEDED") {
				t.Errorf("%s: %v\n%s", app, err, got)
			}
			if x.stock != "" {
				return
			}
			in := filepath.Join(t.TempDir(), "in")
			write(t, in, "b\na\n")
			if got, err := command(t, l, "mr", "-input", in, "-output", in+"-out", "-mapper", "cat"); err != nil || strings.Contains(got, "can't find racks") {
				t.Errorf("%v\n%s", err, got)
			}
		})
	}
}

// refused returns a command of an administrator that service ACLs refuse to alice.
func refused(t *testing.T, r *realm, l *hadooplab.Lab) []string {
	t.Helper()
	write(t, filepath.Join(l.Conf(), "hadoop-policy.xml"), "<configuration><property><name>security.resourcemanager-administration.protocol.acl</name><value>yarn</value></property></configuration>")
	r.as(t, "yarn")
	if _, err := l.Run(t.Context(), "yarn", "rmadmin", "-refreshServiceAcl"); err != nil {
		t.Fatal(err)
	}
	r.as(t, "alice")
	return []string{"yarn", "rmadmin", "-refreshQueues"}
}

package secure

import (
	"maps"
	"os"
	"strings"
	"testing"
	"time"

	"heddle/integration/hadooplab"
)

// securedHDFS returns the settings of a cluster whose HDFS is secured, all encrypted, and the keytab of HDFS's accounts.
func securedHDFS(r *realm) (site map[string]string, keys string) {
	of := func(name string) string { return name + "@" + r.Realm }
	keys = r.Keytab("hdfs.keytab", of("nn/localhost"), of("dn/localhost"), of("HTTP/localhost"), of("hdfs"))
	site = maps.Clone(r.site)
	maps.Copy(site, map[string]string{
		"hadoop.rpc.protection":                     "privacy",
		"hadoop.security.auth_to_local":             "RULE:[2:$1@$0]([rn]m@.*)s/.*/yarn/ RULE:[2:$1@$0]([nd]n@.*)s/.*/hdfs/ DEFAULT",
		"dfs.block.access.token.enable":             "true",
		"dfs.data.transfer.protection":              "privacy",
		"dfs.encrypt.data.transfer.cipher.suites":   "AES/CTR/NoPadding",
		"dfs.namenode.kerberos.principal":           of("nn/_HOST"),
		"dfs.namenode.keytab.file":                  keys,
		"dfs.datanode.kerberos.principal":           of("dn/localhost"),
		"dfs.datanode.keytab.file":                  keys,
		"dfs.web.authentication.kerberos.principal": of("HTTP/localhost"),
		"dfs.web.authentication.kerberos.keytab":    keys,
		"dfs.permissions.superusergroup":            "nobody-else",
		"ignore.secure.ports.for.testing":           "true",
		"yarn.log-aggregation-enable":               "true",
	})
	return site, keys
}

// makeFolders makes those that jobs of alice's need.
func makeFolders(t *testing.T, r *realm, l *hadooplab.Lab, keys string) (run func(args ...string) string) {
	t.Helper()
	run = func(args ...string) string {
		t.Helper()
		out, err := l.Run(t.Context(), args...)
		if err != nil {
			t.Fatalf("%q: %v\n%s", args, err, out)
		}
		return out
	}
	r.Kinit(keys, "hdfs@"+r.Realm)
	run("hdfs", "dfs", "-mkdir", "-p", "/tmp", "/app-logs", "/user/alice")
	run("hdfs", "dfs", "-chmod", "1777", "/tmp", "/app-logs")
	run("hdfs", "dfs", "-chown", "alice", "/user/alice")
	r.as(t, "alice")
	return run
}

// clusterOnHDFS starts a cluster of Heddle's daemons on a secured HDFS of Hadoop's, with further settings. run runs a command as alice.
func clusterOnHDFS(t *testing.T, more map[string]string) (r *realm, l *hadooplab.Lab, run func(args ...string) string) {
	t.Helper()
	r = newRealm(t, 10*time.Hour)
	site, keys := securedHDFS(r)
	maps.Copy(site, more)
	l = hadooplab.Start(t, hadooplab.Options{DataNodes: 1, ResourceManager: true, NodeManagers: 1, Heddle: heddle, Site: site, Krb5: r.Conf})
	return r, l, makeFolders(t, r, l, keys)
}

// A cluster of Heddle's daemons on a secured HDFS of Hadoop's, all encrypted: a job is staged, localized, run and logged with its user's token.
func TestJobsOnSecuredHDFS(t *testing.T) {
	if os.Getenv("HEDDLE_TEST_FULL") == "" {
		t.Skip("HEDDLE_TEST_FULL=1 runs a job on a secured HDFS")
	}
	r, l, run := clusterOnHDFS(t, nil)
	input := l.Dir() + "/input"
	write(t, input, strings.Repeat("a line of text\n", 1000))
	run("hdfs", "dfs", "-put", input, "/user/alice/in")
	out, err := command(t, l, "mr", "-input", "/user/alice/in", "-output", "/user/alice/out", "-mapper", "sh -c 'echo to the log >&2; cat'", "-reducer", "wc -l")
	id := submitted.FindString(out)
	if err != nil || id == "" {
		t.Fatalf("%v\n%s", err, out)
	}
	if got := run("hdfs", "dfs", "-cat", "/user/alice/out/part-*"); strings.TrimSpace(got) != "1000" {
		t.Errorf("the output is %q", got)
	}
	logs, err := command(t, l, "logs", "-applicationId", id)
	if err != nil || !strings.Contains(logs, "to the log") {
		t.Errorf("logs: %v\n%s", err, logs)
	}
	if got := run("hdfs", "dfs", "-ls", "/app-logs/alice/*/*/"+id); !strings.Contains(got, " alice ") {
		t.Errorf("the logs are\n%s", got)
	}
	renewals := func() int { return strings.Count(l.Daemon("namenode").Log(), "cmd=renewDelegationToken") }
	before := renewals()
	if out, err := command(t, l, "xargs", "-a", input, "-n", "100", "echo"); err != nil || !strings.Contains(out, "a line of text") {
		t.Errorf("heddle xargs: %v\n%s", err, out)
	}
	if renewals() == before {
		t.Error("nobody renews the token of a pool")
	}
	r.as(t, "bob")
	if out, err := command(t, l, "mr", "-input", "/user/alice/in", "-output", "/user/alice/bob", "-mapper", "cat", "-numReduceTasks", "0"); err == nil || !strings.Contains(out, "ermission denied") {
		t.Errorf("bob writes to alice's folder: %v\n%s", err, out)
	}
}

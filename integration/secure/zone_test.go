package secure

import (
	"maps"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"heddle/am/staging"
	"heddle/conf"
	"heddle/hdfsadapter"
	"heddle/integration/hadooplab"
	"heddle/internal/await"
	"heddle/internal/ports"
	"heddle/yarn/token"
)

// Encryption zones of a secured HDFS, with a Key Management Server that asks for tickets or tokens: files of a zone are localized, logs are written into one, heddle mr
// reads and writes there. Each call is by the user's token, which the ResourceManager renews; a user without the right to the zone's key reads nothing.
func TestEncryptionZones(t *testing.T) {
	hadooplab.SkipUnlessFull(t)
	r, l, run, server := clusterWithZones(t, nil)

	text := filepath.Join(t.TempDir(), "x")
	write(t, text, "what only alice may read\n")
	run("hdfs", "dfs", "-put", text, "/user/alice/zone/x")
	s := newSubmitter(t, l)
	x := s.resource("/user/alice/zone/x")
	app := s.submit("cat x >$(dirname <LOG_DIR>/x)/stdout; grep -q alice x && exit 42", x, zoneTokens(t, l, server))
	if got := s.ended(app).GetDiagnostics(); !strings.Contains(got, "exitCode: 42") {
		t.Fatalf("it ends with %q", got)
	}
	await.Slowly(t, "its logs are in the zone of logs", func() bool {
		out, err := command(t, l, "logs", "-applicationId", app.String())
		return err == nil && strings.Contains(out, "what only alice may read")
	})
	if out, err := l.Run(t.Context(), "yarn", "logs", "-applicationId", app.String()); err != nil || !strings.Contains(out, "what only alice may read") {
		t.Errorf("yarn logs: %v\n%s", err, out)
	}
	if out, err := command(t, l, "mr", "-input", "/user/alice/zone/x", "-output", "/user/alice/zone/out", "-mapper", "cat", "-numReduceTasks", "0"); err != nil {
		t.Errorf("heddle mr: %v\n%s", err, out)
	}
	if got := run("hdfs", "dfs", "-cat", "/user/alice/zone/out/part-*"); !strings.Contains(got, "what only alice may read") {
		t.Errorf("the output is %q", got)
	}

	bare := s.submit("exit 42", x, nil)
	if got := s.ended(bare).GetDiagnostics(); !strings.Contains(got, "no delegation token") {
		t.Errorf("an application without tokens ends with %q", got)
	}
	r.as(t, "bob")
	run("hdfs", "dfs", "-ls", "/user/alice/zone")
	out, err := command(t, l, "mr", "-input", "/user/alice/zone/x", "-output", "/user/bob/out", "-mapper", "cat", "-numReduceTasks", "0")
	if err == nil || !strings.Contains(out, "bob") || !strings.Contains(out, "DECRYPT_EEK") {
		t.Errorf("bob reads alice's zone: %v\n%s", err, out)
	}
}

// An application that brings no tokens gets those of HDFS and of the Key Management Server from the ResourceManager: a file of a zone is localized, and its log is written
// into another.
func TestZonesWithoutTokensOfTheJob(t *testing.T) {
	hadooplab.SkipUnlessFull(t)
	_, l, run, _ := clusterWithZones(t, map[string]string{
		"yarn.resourcemanager.proxy-user-privileges.enabled": "true",
		"hadoop.proxyuser.yarn.hosts":                        "*", "hadoop.proxyuser.yarn.users": "*",
		"hadoop.kms.proxyuser.yarn.hosts": "*", "hadoop.kms.proxyuser.yarn.users": "*",
	})
	text := filepath.Join(t.TempDir(), "x")
	write(t, text, "what only alice may read\n")
	run("hdfs", "dfs", "-put", text, "/user/alice/zone/x")
	s := newSubmitter(t, l)
	app := s.submit("cat x >$(dirname <LOG_DIR>/x)/stdout; grep -q alice x && exit 42", s.resource("/user/alice/zone/x"), nil)
	if got := s.ended(app).GetDiagnostics(); !strings.Contains(got, "exitCode: 42") {
		t.Fatalf("it ends with %q", got)
	}
	await.Slowly(t, "its log is in the zone of logs", func() bool {
		out, err := command(t, l, "logs", "-applicationId", app.String())
		return err == nil && strings.Contains(out, "what only alice may read")
	})
}

// clusterWithZones starts a cluster on a secured HDFS with a Key Management Server, at the name that is returned, and zones of alice's and of the logs.
func clusterWithZones(t *testing.T, more map[string]string) (r *realm, l *hadooplab.Lab, run func(...string) string, server string) {
	t.Helper()
	r = newRealm(t, 10*time.Hour)
	site, keys := securedHDFS(r)
	maps.Copy(site, more)
	at := strings.Replace(ports.Loopback(t, 1)[0], "127.0.0.1", "localhost", 1)
	server = "kms://http@" + at + "/kms"
	site["hadoop.security.key.provider.path"] = server
	l = hadooplab.Start(t, hadooplab.Options{DataNodes: 1, ResourceManager: true, NodeManagers: 1, Heddle: heddle, Site: site, Krb5: r.Conf})
	kms := map[string]string{
		"hadoop.kms.authentication.type": "kerberos", "hadoop.kms.authentication.kerberos.principal": "HTTP/localhost@" + r.Realm, "hadoop.kms.authentication.kerberos.keytab": keys,
		"hadoop.kms.authentication.kerberos.name.rules": site["hadoop.security.auth_to_local"],
		"hadoop.kms.blacklist.DECRYPT_EEK":              "bob",
	}
	for key, value := range more {
		if strings.HasPrefix(key, "hadoop.kms.") {
			kms[key] = value
		}
	}
	hadooplab.StartKMS(t, l, at, kms, maps.Clone(site))
	run = makeFolders(t, r, l, keys)
	zones(t, r, l, keys, run)
	return r, l, run, server
}

// zones makes zones of alice's and of the logs.
func zones(t *testing.T, r *realm, l *hadooplab.Lab, keys string, run func(args ...string) string) {
	t.Helper()
	r.Kinit(keys, "hdfs@"+r.Realm)
	run("hadoop", "key", "create", "zone", "-size", "128")
	run("hdfs", "dfs", "-mkdir", "-p", "/user/alice/zone", "/user/bob")
	run("hdfs", "dfs", "-chown", "alice", "/user/alice/zone")
	run("hdfs", "dfs", "-chown", "bob", "/user/bob")
	run("hdfs", "dfs", "-chmod", "755", "/user/alice/zone", "/user/alice")
	for _, path := range []string{"/user/alice/zone", "/app-logs"} {
		run("hdfs", "crypto", "-createZone", "-keyName", "zone", "-path", path)
	}
	r.as(t, "alice")
}

// zoneTokens returns the credentials of a job that works in zones.
func zoneTokens(t *testing.T, l *hadooplab.Lab, server string) []byte {
	t.Helper()
	c, err := conf.Load(conf.Options{Dir: l.Conf()})
	if err != nil {
		t.Fatal(err)
	}
	a, err := hdfsadapter.New(c, hdfsadapter.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = a.Close() }()
	var all token.Credentials
	if err := staging.Tokens(t.Context(), a.As(""), c, &all, "/user/alice/zone"); err != nil {
		t.Fatal(err)
	}
	if tok, ok := all.OfKind(token.KindKMS); !ok || tok.Service != server {
		t.Fatalf("the token of the Key Management Server is %v", tok)
	}
	b, err := all.Encode(token.FormatWritable)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

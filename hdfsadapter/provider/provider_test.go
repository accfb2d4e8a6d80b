package provider

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"heddle/conf"
	"heddle/conf/credential"
	"heddle/integration/hadooplab"
	"heddle/yarn/kerberos/kerberostest"
)

// passwordIn looks up the password that the provider of conf/credential's tests has.
func passwordIn(t *testing.T, dir, provider string, overrides ...string) (string, error) {
	t.Helper()
	c, err := conf.Load(conf.Options{Dir: dir, Overrides: append(overrides, credential.PathKey+"="+provider)})
	if err != nil {
		t.Fatal(err)
	}
	got, _, err := credential.Password(c, "ssl.server.keystore.password")
	return got, err
}

// Passwords come from providers in a secured HDFS: a command reads them by its ticket, a daemon by its keytab. One that isn't there is empty, as for Hadoop.
func TestPasswordsInHDFS(t *testing.T) {
	hadooplab.SkipUnlessFull(t)
	k := kerberostest.StartKDC(t, time.Hour)
	t.Setenv("KRB5_CONFIG", k.Conf)
	t.Setenv("KRB5CCNAME", "FILE:"+k.Cache())
	full := func(name string) string { return name + "@" + k.Realm }
	keys := k.Keytab("keytab", full("nn/localhost"), full("dn/localhost"), full("HTTP/localhost"), full("hdfs"), full("nm/localhost"))
	k.Kinit(keys, full("hdfs"))
	l := hadooplab.Start(t, hadooplab.Options{DataNodes: 1, Krb5: k.Conf, Site: map[string]string{
		"hadoop.security.authentication": "kerberos", "hadoop.security.auth_to_local": `RULE:[2:$1](.n)s/.*/hdfs/ DEFAULT`,
		"dfs.block.access.token.enable":             "true",
		"dfs.data.transfer.protection":              "privacy",
		"dfs.namenode.kerberos.principal":           full("nn/_HOST"),
		"dfs.namenode.keytab.file":                  keys,
		"dfs.datanode.kerberos.principal":           full("dn/localhost"),
		"dfs.datanode.keytab.file":                  keys,
		"ignore.secure.ports.for.testing":           "true",
		"dfs.web.authentication.kerberos.principal": full("HTTP/localhost"), "dfs.web.authentication.kerberos.keytab": keys,
	}})
	large := t.TempDir() + "/large"
	if err := os.WriteFile(large, make([]byte, 9<<20), 0o600); err != nil {
		t.Fatal(err)
	}
	made, err := filepath.Abs("../../conf/credential/testdata/none.jceks")
	if err != nil {
		t.Fatal(err)
	}
	for from, to := range map[string]string{made: "/p.jceks", large: "/large.jceks"} {
		if out, err := l.Run(t.Context(), "hdfs", "dfs", "-put", from, to); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
	}
	for _, provider := range []string{"jceks://hdfs/p.jceks", "jceks://hdfs/missing.jceks,jceks://hdfs/p.jceks"} {
		if got, err := passwordIn(t, l.Conf(), provider); got != "storepass" || err != nil {
			t.Errorf("%s: %q, %v", provider, got, err)
		}
	}
	if got, err := passwordIn(t, l.Conf(), "jceks://hdfs/large.jceks"); err == nil || !strings.Contains(err.Error(), "large") {
		t.Errorf("a large one: %q, %v", got, err)
	}
	t.Setenv("KRB5CCNAME", "FILE:"+t.TempDir()+"/none")
	if got, err := passwordIn(t, l.Conf(), "jceks://hdfs/p.jceks"); err == nil {
		t.Errorf("without a ticket: %q", got)
	}
	if got, err := passwordIn(t, l.Conf(), "jceks://hdfs/p.jceks", "yarn.nodemanager.principal="+full("nm/localhost"), "yarn.nodemanager.keytab="+keys); got != "storepass" || err != nil {
		t.Errorf("a password by keytab: %q, %v", got, err)
	}
}

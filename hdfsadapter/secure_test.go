package hdfsadapter

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"strings"
	"testing"
	"time"

	"heddle/conf"
	"heddle/conf/secure"
	"heddle/integration/hadooplab"
	"heddle/yarn/kerberos"
	"heddle/yarn/kerberos/kerberostest"
	"heddle/yarn/kerberos/login"
)

// A stock HDFS with Kerberos, with each protection of RPC and data: names, reads and writes by ticket and by token; nothing without.
func TestSecuredHDFS(t *testing.T) {
	if os.Getenv("HEDDLE_TEST_FULL") == "" {
		t.Skip("HEDDLE_TEST_FULL=1 starts a secured HDFS for each protection")
	}
	k := kerberostest.StartKDC(t, time.Hour)
	t.Setenv("KRB5_CONFIG", k.Conf)
	t.Setenv("KRB5CCNAME", "FILE:"+k.Cache())
	full := func(name string) string { return name + "@" + k.Realm }
	keys := k.Keytab("keytab", full("nn/localhost"), full("dn/localhost"), full("HTTP/localhost"), full("hdfs"), full("alice"), full("nm/localhost"))
	common := map[string]string{
		"hadoop.security.authentication": "kerberos", "hadoop.security.auth_to_local": `RULE:[2:$1](.n)s/.*/hdfs/ DEFAULT`,
		"dfs.block.access.token.enable":             "true",
		"dfs.namenode.kerberos.principal":           full("nn/_HOST"),
		"dfs.namenode.keytab.file":                  keys,
		"dfs.datanode.kerberos.principal":           full("dn/localhost"),
		"dfs.datanode.keytab.file":                  keys,
		"ignore.secure.ports.for.testing":           "true", // no TLS on the DataNodes' web ports
		"dfs.web.authentication.kerberos.principal": full("HTTP/localhost"), "dfs.web.authentication.kerberos.keytab": keys,
	}
	for name, x := range map[string]struct {
		nameNodes int
		site      map[string]string
	}{
		"authentication": {1, map[string]string{"dfs.data.transfer.protection": "authentication"}},
		"integrity":      {1, map[string]string{"dfs.data.transfer.protection": "integrity", "hadoop.rpc.protection": "integrity"}},
		"privacy":        {2, map[string]string{"dfs.data.transfer.protection": "privacy", "hadoop.rpc.protection": "privacy"}},
		"AES": {1, map[string]string{
			"dfs.data.transfer.protection": "privacy", "hadoop.rpc.protection": "privacy", "dfs.encrypt.data.transfer.cipher.suites": "AES/CTR/NoPadding",
		}},
		"encrypted":     {1, map[string]string{"dfs.encrypt.data.transfer": "true", "dfs.data.transfer.protection": "authentication", "dfs.encrypt.data.transfer.algorithm": "3des"}},
		"encrypted AES": {1, map[string]string{"dfs.encrypt.data.transfer": "true", "dfs.data.transfer.protection": "authentication", "dfs.encrypt.data.transfer.cipher.suites": "AES/CTR/NoPadding"}},
	} {
		t.Run(name, func(t *testing.T) {
			k.Kinit(keys, full("hdfs"))
			site := maps.Clone(common)
			maps.Copy(site, x.site)
			lab := hadooplab.Start(t, hadooplab.Options{DataNodes: 2, NameNodes: x.nameNodes, Krb5: k.Conf, Site: site})
			secured(t, k, lab.Conf(), keys, full)
		})
	}
}

func secured(t *testing.T, k *kerberostest.KDC, dir, keys string, full func(string) string) {
	a := newAdapter(t, dir)
	root := a.As("")
	if a.self != "hdfs" {
		t.Errorf("the ticket is %s's", a.self)
	}
	ctx := t.Context()
	for _, dir := range []string{"/user/alice", "/open"} {
		if err := root.MkdirAll(ctx, dir, 0o777); err != nil {
			t.Fatal(err)
		}
		if err := root.Chmod(ctx, dir, 0o777); err != nil {
			t.Fatal(err)
		}
	}
	data := randomBytes(3<<20+17, 3)
	try := func(f *FS, who string) {
		t.Helper()
		name := "/open/" + who
		put(t, f, name, data[:2<<20], CreateOptions{BlockSize: 1 << 20, Replication: 2})
		w, err := f.Append(ctx, name)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write(data[2<<20:]); err != nil {
			t.Fatal(err)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		same(t, who, get(t, f, name), data)
		r, err := f.Open(ctx, name)
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		part := make([]byte, 1000)
		if _, err := r.ReadAt(part, 1<<20-500); err != nil {
			t.Fatal(err)
		}
		same(t, who+" across two blocks", part, data[1<<20-500:1<<20+500])
		if i, err := f.Stat(ctx, name); err != nil || i.Owner != strings.Split(who, "-")[0] {
			t.Errorf("%s: %+v, %v", who, i, err)
		}
	}
	try(root, "hdfs")

	// A job's token, in the hands of a daemon with a ticket of its own.
	k.Kinit(keys, full("alice"))
	tok, ok, err := newAdapter(t, dir).As("").Delegate(ctx, "/", full("nm/localhost"))
	if err != nil || !ok {
		t.Fatal(ok, err)
	}
	k.Kinit(keys, full("hdfs"))
	c, err := conf.Load(conf.Options{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	daemon, err := New(c, Options{Host: "this-host", Login: func() (Login, error) { return loginOf(c, keys, full("nm/localhost")) }})
	if err != nil {
		t.Fatal(err)
	}
	defer daemon.Close()
	try(daemon.As("alice", tok), "alice-by-token")
	try(daemon.As(""), "nm-of-a-daemon")
	for _, user := range []string{"alice", daemon.self, "nm"} {
		if _, err := daemon.As(user).Stat(ctx, "/"); err == nil || !strings.Contains(err.Error(), "no delegation token") {
			t.Errorf("%s without a token: %v", user, err)
		}
	}
	if _, err := daemon.As("alice", tok).Create(ctx, "/denied", CreateOptions{}); !errors.Is(err, fs.ErrPermission) {
		t.Errorf("alice writes to /: %v", err)
	}
	if until, err := daemon.RenewToken(ctx, tok); err != nil || time.Until(until) < time.Hour {
		t.Errorf("renewed until %v, %v", until, err)
	}
	if err := daemon.CancelToken(ctx, tok); err != nil {
		t.Error(err)
	}
	fresh, err := New(c, Options{Host: "this-host", Login: func() (Login, error) { return nil, fmt.Errorf("no login") }})
	if err != nil {
		t.Fatal(err)
	}
	defer fresh.Close()
	if _, err := fresh.As("alice", tok).Stat(ctx, "/"); err == nil || !strings.Contains(err.Error(), "can't be found in cache") {
		t.Errorf("by a cancelled token: %v", err)
	}
	if _, err := fresh.As("").Stat(ctx, "/"); err == nil || !strings.Contains(err.Error(), "no login") {
		t.Errorf("without a login: %v", err)
	}
}

func loginOf(c *conf.Config, keys, principal string) (Login, error) {
	tab, err := kerberos.OpenKeytab(keys)
	if err != nil {
		return nil, err
	}
	k, err := secure.Krb5(c)
	if err != nil {
		return nil, err
	}
	return login.FromKeytab(k, tab, principal)
}

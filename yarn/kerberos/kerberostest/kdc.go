package kerberostest

import (
	"bytes"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"heddle/internal/await"
	"heddle/internal/needs"
)

// KDC is MIT's, with a realm and a port of its own (Debian: krb5-kdc, krb5-admin-server, krb5-user).
type KDC struct {
	t     testing.TB
	Realm string
	Dir   string
	// Conf is its krb5.conf.
	Conf string
	addr string
	log  bytes.Buffer
}

// StartKDC starts one, which ends with the test. Its tickets live for as long as life says.
func StartKDC(t testing.TB, life time.Duration) *KDC {
	t.Helper()
	for _, program := range []string{"krb5kdc", "kdb5_util", "kadmin.local", "kinit"} {
		needs.Program(t, program)
	}
	k := &KDC{t: t, Realm: "HEDDLE.TEST", Dir: t.TempDir()}
	k.Conf = filepath.Join(k.Dir, "krb5.conf")
	port := freePort(t)
	k.addr = fmt.Sprintf("127.0.0.1:%d", port)
	write := func(name, format string, args ...any) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(k.Dir, name), fmt.Appendf(nil, format, args...), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("krb5.conf", "[libdefaults]\n default_realm = %[1]s\n dns_lookup_kdc = false\n dns_lookup_realm = false\n rdns = false\n udp_preference_limit = 1\n"+
		"[realms]\n %[1]s = {\n  kdc = 127.0.0.1:%[2]d\n }\n", k.Realm, port)
	write("kdc.conf", "[kdcdefaults]\n kdc_listen = 127.0.0.1:%[2]d\n kdc_tcp_listen = 127.0.0.1:%[2]d\n[realms]\n %[1]s = {\n  database_name = %[3]s/principal\n"+
		"  key_stash_file = %[3]s/stash\n  acl_file = %[3]s/acl\n  max_life = %[4]ds\n  supported_enctypes = aes256-cts:normal aes128-cts:normal\n }\n"+
		"[logging]\n kdc = FILE:%[3]s/kdc.log\n", k.Realm, port, k.Dir, int(life.Seconds()))
	k.run("kdb5_util", "create", "-s", "-r", k.Realm, "-P", "master")
	c := k.command("krb5kdc", "-n")
	c.Stdout, c.Stderr = &k.log, &k.log
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = c.Process.Kill()
		_ = c.Wait()
	})
	await.Until(t, "the KDC listens", func() bool {
		nc, err := net.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", port))
		if err == nil {
			_ = nc.Close()
		}
		return err == nil
	})
	return k
}

func freePort(t testing.TB) int {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port
}

func (k *KDC) command(program string, args ...string) *exec.Cmd {
	c := exec.CommandContext(k.t.Context(), program, args...)
	c.Env = append(os.Environ(), "KRB5_CONFIG="+k.Conf, "KRB5_KDC_PROFILE="+filepath.Join(k.Dir, "kdc.conf"), "KRB5CCNAME=FILE:"+k.Cache())
	return c
}

func (k *KDC) run(program string, args ...string) {
	k.t.Helper()
	if out, err := k.command(program, args...).CombinedOutput(); err != nil {
		k.t.Fatalf("%s %q: %v\n%s", program, args, err, out)
	}
}

// Keytab adds principals, with new keys if they exist, and returns a keytab with their keys.
func (k *KDC) Keytab(name string, principals ...string) string {
	k.t.Helper()
	path := filepath.Join(k.Dir, name)
	for _, p := range principals {
		_ = k.command("kadmin.local", "-q", "addprinc -randkey "+p).Run() // it may exist
		k.run("kadmin.local", "-q", "ktadd -k "+path+" "+p)
	}
	return path
}

// Cache returns the path of the ticket cache that Kinit fills.
func (k *KDC) Cache() string { return filepath.Join(k.Dir, "cache") }

// Kinit fills the cache with a ticket of a principal.
func (k *KDC) Kinit(keytab, principal string, args ...string) {
	k.t.Helper()
	k.run("kinit", append(args, "-k", "-t", keytab, principal)...)
}

// Log returns what the KDC has logged.
func (k *KDC) Log() string {
	b, err := os.ReadFile(filepath.Join(k.Dir, "kdc.log"))
	if err != nil {
		k.t.Fatal(err)
	}
	return string(b)
}

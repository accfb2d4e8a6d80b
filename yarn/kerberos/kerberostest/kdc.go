package kerberostest

import (
	"bytes"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"syscall"
	"testing"
	"time"

	"heddle/internal/await"
	"heddle/internal/deathsig"
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
	life time.Duration
	env  []string // of the KDC itself
	log  bytes.Buffer
}

// StartKDC starts one, which ends with the test, and with its process if that is killed. Its tickets live for as long as life says.
func StartKDC(t testing.TB, life time.Duration) *KDC {
	t.Helper()
	k := newKDC(t, "HEDDLE.TEST", life)
	k.start(k.libraries() + k.realms())
	return k
}

// StartChain starts KDCs of several realms, each of which trusts the next and the last. Services are in the first one, clients of a realm reach them through those before it.
func StartChain(t testing.TB, life time.Duration, realms ...string) []*KDC {
	t.Helper()
	return startChain(t, life, len(realms), realms)
}

// StartChainByClients is StartChain where the KDCs of the first two realms alone know the ways, and take clients who came by them. The others refer no client: it must know.
func StartChainByClients(t testing.TB, life time.Duration, realms ...string) []*KDC {
	t.Helper()
	return startChain(t, life, 2, realms)
}

// startChain starts KDCs of realms, of which the first so many know the ways between them.
func startChain(t testing.TB, life time.Duration, knowing int, realms []string) (all []*KDC) {
	t.Helper()
	for _, realm := range realms {
		all = append(all, newKDC(t, realm, life))
	}
	conf := all[0].libraries()
	for _, k := range all {
		conf += k.realms()
	}
	conf += "[domain_realm]\n localhost = " + realms[0] + "\n .test = " + realms[0] + "\n"
	ways := "[capaths]\n"
	for i := 2; i < len(realms); i++ {
		ways += fmt.Sprintf(" %s = {\n", realms[i])
		for to := range i - 1 {
			for on := i - 1; on > to; on-- { // the nearest to the client first
				ways += fmt.Sprintf("  %s = %s\n", realms[to], realms[on])
			}
		}
		ways += " }\n"
	}
	for i, k := range all {
		if i < knowing {
			k.start(conf + ways)
		} else {
			k.start(conf)
		}
		for _, other := range []int{i - 1, i + 1} {
			if other >= 0 && other < len(all) {
				for _, name := range []string{"krbtgt/" + realms[i] + "@" + realms[other], "krbtgt/" + realms[other] + "@" + realms[i]} {
					k.run("kadmin.local", "-r", k.Realm, "-q", "addprinc -pw trust "+name)
				}
			}
		}
	}
	return all
}

func newKDC(t testing.TB, realm string, life time.Duration) *KDC {
	t.Helper()
	for _, program := range []string{"krb5kdc", "kdb5_util", "kadmin.local", "kinit"} {
		needs.Program(t, program)
	}
	k := &KDC{t: t, Realm: realm, Dir: t.TempDir(), life: life}
	k.Conf = filepath.Join(k.Dir, "krb5.conf")
	k.addr = fmt.Sprintf("127.0.0.1:%d", freePort(t))
	return k
}

// libraries is the part of krb5.conf for the libraries of clients of the realm.
func (k *KDC) libraries() string {
	return "[libdefaults]\n default_realm = " + k.Realm + "\n dns_lookup_kdc = false\n dns_lookup_realm = false\n rdns = false\n udp_preference_limit = 1\n"
}

// realms is the part of krb5.conf about the realm.
func (k *KDC) realms() string {
	return fmt.Sprintf("[realms]\n %s = {\n  kdc = %s\n }\n", k.Realm, k.addr)
}

// start makes the realm and starts its KDC.
func (k *KDC) start(conf string) {
	t := k.t
	t.Helper()
	write := func(name, format string, args ...any) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(k.Dir, name), fmt.Appendf(nil, format, args...), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("krb5.conf", "%s", conf)
	write("kdc.conf", "[kdcdefaults]\n kdc_listen = %[2]s\n kdc_tcp_listen = %[2]s\n[realms]\n %[1]s = {\n  database_name = %[3]s/principal\n"+
		"  key_stash_file = %[3]s/stash\n  acl_file = %[3]s/acl\n  max_life = %[4]ds\n  supported_enctypes = aes256-cts:normal aes128-cts:normal\n }\n"+
		"[logging]\n kdc = FILE:%[3]s/kdc.log\n", k.Realm, k.addr, k.Dir, int(k.life.Seconds()))
	k.run("kdb5_util", "create", "-s", "-r", k.Realm, "-P", "master")
	c := k.command("krb5kdc", "-n", "-r", k.Realm)
	c.Env = append(c.Env, k.env...)
	c.Stdout, c.Stderr = &k.log, &k.log
	c.SysProcAttr = &syscall.SysProcAttr{}
	deathsig.Set(c.SysProcAttr)
	started, end, ended := make(chan error), make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		runtime.LockOSThread() // the kernel counts the thread that started it as its parent
		err := c.Start()
		if started <- err; err != nil {
			return
		}
		<-end
		_ = c.Process.Kill()
		_ = c.Wait()
	}()
	if err := <-started; err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		close(end)
		<-ended
	})
	await.Until(t, "the KDC listens", func() bool {
		nc, err := net.Dial("tcp", k.addr)
		if err == nil {
			_ = nc.Close()
		}
		return err == nil
	})
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
	c.Env = append(os.Environ(), "KRB5_CONFIG="+k.Conf, "KRB5_KDC_PROFILE="+filepath.Join(k.Dir, "kdc.conf"),
		"KRB5CCNAME=FILE:"+k.Cache())
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
		_ = k.command("kadmin.local", "-r", k.Realm, "-q", "addprinc -randkey "+p).Run() // it may exist
		k.run("kadmin.local", "-r", k.Realm, "-q", "ktadd -k "+path+" "+p)
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

package secure

import (
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"heddle/conf"
	"heddle/conf/caller"
	"heddle/integration/hadooplab"
	"heddle/internal/await"
	"heddle/yarn/ipc"
	"heddle/yarn/kerberos/kerberostest"
	"heddle/yarn/pb"
	"heddle/yarn/protocol"
	"heddle/yarn/sasl"
)

var heddle string

func TestMain(m *testing.M) {
	path, remove, err := hadooplab.BuildHeddle()
	if err != nil {
		panic(err)
	}
	heddle = path
	code := m.Run()
	remove()
	os.Exit(code)
}

// realm is a KDC with the accounts of a cluster on this machine, and the settings of such a cluster.
type realm struct {
	*kerberostest.KDC
	site  map[string]string
	users string // keytab
}

func newRealm(t *testing.T, life time.Duration) *realm {
	t.Helper()
	return realmOf(t, kerberostest.StartKDC(t, life))
}

func realmOf(t *testing.T, kdc *kerberostest.KDC) *realm {
	t.Helper()
	r := &realm{KDC: kdc}
	of := func(name string) string { return name + "@" + r.Realm }
	daemons := r.Keytab("daemons.keytab", of("rm/localhost"), of("nm/localhost"), of("HTTP/localhost"))
	r.users = r.Keytab("users.keytab", of("alice"), of("bob"), of("oozie"), of("yarn"))
	t.Setenv("KRB5_CONFIG", r.Conf)
	t.Setenv("KRB5CCNAME", "FILE:"+r.Cache())
	t.Setenv("JAVA_TOOL_OPTIONS", "-Djava.security.krb5.conf="+r.Conf)
	secret := filepath.Join(r.Dir, "http-secret")
	if err := os.WriteFile(secret, []byte("a secret of the web ports"), 0o600); err != nil {
		t.Fatal(err)
	}
	r.site = map[string]string{
		"hadoop.security.authentication":                   "kerberos",
		"hadoop.security.authorization":                    "true",
		"hadoop.security.auth_to_local":                    "RULE:[2:$1@$0](rm@.*)s/.*/yarn/ RULE:[2:$1@$0](nm@.*)s/.*/yarn/ DEFAULT",
		"hadoop.http.authentication.signature.secret.file": secret,
		"yarn.resourcemanager.principal":                   of("rm/_HOST"),
		"yarn.resourcemanager.keytab":                      daemons,
		"yarn.nodemanager.principal":                       of("nm/localhost"),
		"yarn.nodemanager.keytab":                          daemons,
		"yarn.acl.enable":                                  "true",
		"yarn.admin.acl":                                   "yarn",
		"yarn.resourcemanager.connect.max-wait.ms":         "20000",
		"yarn.resourcemanager.connect.retry-interval.ms":   "500",
		"mapreduce.jobhistory.address":                     "",
		"yarn.nodemanager.vmem-check-enabled":              "false",
		"hadoop.proxyuser.oozie.hosts":                     "*",
		"hadoop.proxyuser.oozie.users":                     "alice",
	}
	r.as(t, "alice")
	return r
}

// as has the commands that follow run for a user.
func (r *realm) as(t *testing.T, user string) {
	t.Helper()
	r.Kinit(r.users, user+"@"+r.Realm)
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// command runs a command of heddle.
func command(t *testing.T, l *hadooplab.Lab, args ...string) (string, error) {
	t.Helper()
	c := exec.CommandContext(t.Context(), heddle, args...)
	c.Env = append(os.Environ(), "HADOOP_CONF_DIR="+l.Conf())
	out, err := c.CombinedOutput()
	return string(out), err
}

// runningApp waits until an application runs, and returns its id.
func runningApp(t *testing.T, l *hadooplab.Lab) string {
	t.Helper()
	return await.Value(t, "the job runs", func() (string, bool) {
		out, err := command(t, l, "app", "-list", "-appStates", "RUNNING")
		id := submitted.FindString(out)
		return id, err == nil && id != ""
	})
}

// refusedAsNode tries to register a node without the account of NodeManagers. Whoever can gets the keys of tokens.
func refusedAsNode(t *testing.T, r *realm, l *hadooplab.Lab) {
	t.Helper()
	c, err := conf.Load(conf.Options{Dir: l.Conf()})
	if err != nil {
		t.Fatal(err)
	}
	who, err := caller.Of(c)
	if err != nil {
		t.Fatal(err)
	}
	client := ipc.NewClient(ipc.ClientConfig{Protection: sasl.Qualities{sasl.Privacy}})
	defer client.Close()
	to := client.Endpoint(fmt.Sprintf("localhost:%d", l.Port("rm-tracker")), protocol.ResourceTracker, who.Identity)
	_, err = protocol.RegisterNodeManager.Call(t.Context(), to, &pb.RegisterNodeManagerRequest{})
	if !ipc.IsClass(err, ipc.AuthorizationException) || !strings.Contains(err.Error(), "this service is only accessible by nm/localhost@"+r.Realm) {
		t.Errorf("a stranger's node: %v", err)
	}
}

// Heddle's commands reach a ResourceManager with tickets of kinit, and say what is missing without. Nodes register, and rights follow short names. Service ACLs
// are refreshed.
func TestHeddleWithKerberos(t *testing.T) {
	r := newRealm(t, 10*time.Hour)
	site := maps.Clone(r.site)
	site["hadoop.rpc.protection"] = "privacy"
	l := hadooplab.Start(t, hadooplab.Options{ResourceManager: true, NodeManagers: 1, Heddle: heddle, Site: site})
	good := func(want string, args ...string) {
		t.Helper()
		if out, err := command(t, l, args...); err != nil || !strings.Contains(out, want) {
			t.Errorf("%q: %v\n%s", args, err, out)
		}
	}
	bad := func(want string, args ...string) {
		t.Helper()
		if out, err := command(t, l, args...); err == nil || !strings.Contains(out, want) {
			t.Errorf("%q: %v\n%s", args, err, out)
		}
	}
	good("RUNNING", "node", "-list")
	good("Name: rm/localhost@"+r.Realm+" to yarn", "kerbname", "rm/localhost@"+r.Realm)
	bad("User alice doesn't have permission to call 'refreshServiceAcls'", "rmadmin", "-refreshServiceAcl")
	policy := filepath.Join(l.Conf(), "hadoop-policy.xml")
	write(t, policy, "<configuration><property><name>security.applicationclient.protocol.acl</name><value>bob</value></property></configuration>")
	r.as(t, "yarn")
	good("", "rmadmin", "-refreshServiceAcl")
	r.as(t, "alice")
	bad("User alice@"+r.Realm+" (auth:KERBEROS) is not authorized for protocol interface org.apache.hadoop.yarn.api.ApplicationClientProtocolPB: denied by configured ACL", "node", "-list")
	r.as(t, "bob")
	good("RUNNING", "node", "-list")
	refusedAsNode(t, r, l)
	t.Setenv("HADOOP_PROXY_USER", "alice")
	bad("User: bob@"+r.Realm+" is not allowed to impersonate alice", "node", "-list")
	write(t, policy, "<configuration/>")
	r.as(t, "yarn")
	bad("User: yarn@"+r.Realm+" is not allowed to impersonate alice", "rmadmin", "-refreshServiceAcl")
	t.Setenv("HADOOP_PROXY_USER", "")
	good("", "rmadmin", "-refreshServiceAcl")
	t.Setenv("HADOOP_PROXY_USER", "alice")
	r.as(t, "oozie")
	good("RUNNING", "node", "-list")
	t.Setenv("HADOOP_PROXY_USER", "")
	t.Setenv("KRB5CCNAME", "FILE:"+filepath.Join(r.Dir, "nothing"))
	bad("run kinit", "node", "-list")
}

package rm

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"heddle/conf"
	"heddle/conf/caller"
	"heddle/conf/secure"
	"heddle/internal/await"
	"heddle/yarn/ipc"
	"heddle/yarn/kerberos/kerberostest"
	"heddle/yarn/pb"
	"heddle/yarn/protocol"
)

// canonical is the name of an address of this machine, or the address itself if it has none.
func canonical(t *testing.T, ip string) string {
	t.Helper()
	names, _ := net.DefaultResolver.LookupAddr(t.Context(), ip)
	for _, name := range names {
		if back, err := net.DefaultResolver.LookupHost(t.Context(), name); err == nil && slices.Contains(back, ip) {
			return strings.ToLower(strings.TrimSuffix(name, "."))
		}
	}
	return ip
}

// Members on three hosts, which listen on all addresses, have one principal with _HOST in their configuration. Each is known by the name of its own host, with the
// key of that name alone; with another's key a member doesn't start.
func TestMembersOfSeveralHostsHaveNamesOfTheirOwn(t *testing.T) {
	k := kerberostest.StartKDC(t, time.Hour)
	t.Setenv("KRB5_CONFIG", k.Conf)
	t.Setenv("KRB5CCNAME", "FILE:"+k.Cache())
	k.Kinit(k.Keytab("alice.keytab", "alice@"+k.Realm), "alice@"+k.Realm)
	c := settingsFor(t, t.TempDir(), 3)
	hosts := []string{"localhost", "127.0.0.2", "127.0.0.3"}
	var addresses []string
	for i, host := range hosts {
		for _, key := range []string{ClientAddress, MasterAddress, TrackerAddress, AdminAddress, WebAddress} {
			at := fmt.Sprintf("%s.rm%d", key, i+1)
			_, port, err := net.SplitHostPort(c.Text(at))
			if err != nil {
				t.Fatal(err)
			}
			c.Set(at, net.JoinHostPort(host, port))
		}
		addresses = append(addresses, c.Text(fmt.Sprintf("%s.rm%d", ClientAddress, i+1)))
	}
	c.Set("yarn.resourcemanager.bind-host", "0.0.0.0")
	shared := filepath.Join(k.Dir, "secret")
	if err := os.WriteFile(shared, []byte("a secret of the members that is long enough"), 0o600); err != nil {
		t.Fatal(err)
	}
	c.Set("heddle.cluster.secret-file", shared)
	c.Set(secure.Authentication, "kerberos")
	c.Set("hadoop.security.auth_to_local", "RULE:[2:$1](rm)s/rm/yarn/ DEFAULT")
	c.Set(secure.ManagerAccount, "rm/_HOST@"+k.Realm)
	c.Set(secure.NodeAccount, "nm/_HOST@"+k.Realm)
	of := func(i int) *conf.Config {
		name := hosts[i]
		if net.ParseIP(name) != nil {
			name = canonical(t, name)
		}
		return c.WithValues("the test", map[string]string{
			secure.ManagerKeytab: k.Keytab(fmt.Sprintf("rm%d.keytab", i+1), "rm/"+name+"@"+k.Realm),
		})
	}
	members := make([]*member, len(hosts))
	for i := range members {
		members[i] = startOne(t, of(i), i)
		defer members[i].halt(t)
	}
	leaderOf(t, members)
	who, err := caller.Of(c)
	if err != nil {
		t.Fatal(err)
	}
	client := ipc.NewClient(ipc.ClientConfig{ConnectTimeout: 2 * time.Second})
	defer client.Close()
	answered := 0
	for _, address := range addresses {
		_, err := protocol.GetNewApplication.Call(t.Context(), client.Endpoint(address, protocol.ApplicationClient, who.Identity), &pb.GetNewApplicationRequest{})
		switch { // a follower says that it doesn't lead to whom it has let in
		case err == nil:
			answered++
		case !ipc.IsClass(err, ipc.StandbyException):
			t.Errorf("the member at %s: %v", address, err)
		}
	}
	if answered != 1 {
		t.Errorf("%d members lead", answered)
	}
	for i, host := range hosts {
		name := canonical(t, host)
		if i == 0 {
			name = host
		}
		await.Until(t, "the KDC has been asked for the member's name", func() bool {
			return strings.Contains(k.Log(), "alice@"+k.Realm+" for rm/"+name+"@"+k.Realm)
		})
	}
	wrong := c.WithValues("the test", map[string]string{secure.ManagerKeytab: of(1).Text(secure.ManagerKeytab)})
	if _, err := secure.ResourceManager(wrong, "rm1"); err == nil || !strings.Contains(err.Error(), "rm/localhost@"+k.Realm) || !strings.Contains(err.Error(), secure.ManagerKeytab) {
		t.Errorf("with another member's key: %v", err)
	}
}

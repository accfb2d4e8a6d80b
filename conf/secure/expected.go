package secure

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"path"
	"strings"

	"heddle/conf"
	"heddle/yarn/kerberos"
	"heddle/yarn/kerberos/krb5conf"
)

// source has tickets; *login.Login and *Late are ones.
type source interface {
	Ticket(ctx context.Context, service, host string) (kerberos.Ticket, error)
}

// Tickets gives tickets of services that a configuration expects at an address, and no others: another may answer there.
type Tickets struct {
	from         source
	krb5         *krb5conf.Config
	key          string
	name, others string // the expected name, and a pattern that counts instead if it is set
}

// ForResourceManagers gives a login's tickets to servers that are ResourceManagers by the configuration: their name is yarn.resourcemanager.principal, in which
// _HOST is the server's host, or matches yarn.resourcemanager.principal.pattern, if that is set (Hadoop: SaslRpcClient).
func ForResourceManagers(c *conf.Config, l source) (*Tickets, error) {
	k, err := Krb5(c)
	if err != nil {
		return nil, err
	}
	t := &Tickets{from: l, krb5: k, key: ManagerAccount, name: c.Text(ManagerAccount), others: c.Text(ManagerAccount + ".pattern")}
	if t.name == "" && t.others == "" {
		return nil, conf.ErrorAt(c, t.key, fmt.Errorf("%s: is not set, so the ResourceManager's account is unknown: set it as the ResourceManager has it", t.key))
	}
	return t, nil
}

// Ticket implements ipc.Tickets for servers whose address doesn't matter: the host of the expected name must be written in the configuration.
func (t *Tickets) Ticket(ctx context.Context, service, host string) (kerberos.Ticket, error) {
	return t.TicketAt(ctx, "", service, host)
}

// TicketAt returns a ticket for the service that the server at an address, host:port, claims to be.
func (t *Tickets) TicketAt(ctx context.Context, addr, service, host string) (kerberos.Ticket, error) {
	if err := t.check(machine, addr, service, host); err != nil {
		return kerberos.Ticket{}, err
	}
	return t.from.Ticket(ctx, service, host)
}

func (t *Tickets) check(n names, addr, service, host string) error {
	claimed := service + "/" + host + "@" + krb5conf.RealmOf(t.krb5, host)
	if t.others != "" {
		flat := strings.NewReplacer("/", ":").Replace // * takes all characters
		if ok, err := path.Match(flat(t.others), flat(claimed)); err != nil || !ok {
			return fmt.Errorf("server has invalid Kerberos principal: %s, expecting one that matches %s (%s.pattern)", claimed, t.others, t.key)
		}
		return nil
	}
	var expected []string
	before, realm, isHost := strings.Cut(t.name, "/_HOST@")
	if !isHost {
		expected = []string{t.name}
	} else if at, _, err := net.SplitHostPort(addr); err == nil {
		for _, h := range n.of(at) {
			if expected = append(expected, before+"/"+h+"@"+realm); expected[len(expected)-1] == claimed {
				return nil
			}
		}
	}
	for _, e := range expected {
		if e == claimed {
			return nil
		}
	}
	return fmt.Errorf("server has invalid Kerberos principal: %s, expecting %s (%s)", claimed, strings.Join(expected, " or "), t.key)
}

// Nodes says which accounts NodeManagers have.
type Nodes struct{ name string }

// ForNodes reads yarn.nodemanager.principal.
func ForNodes(c *conf.Config) (*Nodes, error) {
	n := &Nodes{c.Text(NodeAccount)}
	if service, rest, ok := strings.Cut(n.name, "/"); !ok || service == "" || !strings.Contains(rest, "@") {
		why := "has no host"
		if n.name == "" {
			why = "is not set"
		}
		return nil, conf.ErrorAt(c, NodeAccount, fmt.Errorf("%s: %s, so that the ResourceManager can't tell NodeManagers from others: set it as the NodeManagers have it, such as nm/_HOST@REALM", NodeAccount, why))
	}
	return n, nil
}

// Are reports whether a caller with a full name and an address is a NodeManager, and which name is expected there. _HOST in it is the canonical
// name of the address. If not strict, it stands for any host: Hadoop compares nothing then.
func (n *Nodes) Are(name string, from netip.Addr, strict bool) (good bool, expected string) {
	before, realm, isHost := strings.Cut(n.name, "/_HOST@")
	if !isHost {
		return name == n.name, n.name
	}
	if !strict {
		rest, is := strings.CutPrefix(name, before+"/")
		host, of, _ := strings.Cut(rest, "@")
		return is && host != "" && of == realm, n.name
	}
	expected = before + "/" + machine.named(conf.Address{Host: from.Unmap().String()}) + "@" + realm
	return name == expected, expected
}

package ipc_test

import (
	"context"
	"errors"
	"net/netip"
	"strings"
	"testing"

	"heddle/yarn/ipc"
	"heddle/yarn/kerberos"
	"heddle/yarn/sasl"
)

// fullSecrets are those of tokens whose owners have full names.
type fullSecrets struct{ nmSecrets }

func (s fullSecrets) Bearer(identifier []byte) (ipc.Bearer, error) {
	b, err := s.nmSecrets.Bearer(identifier)
	b.User, b.RealUser = "alice@EXAMPLE.COM", "oozie/h@EXAMPLE.COM"
	return b, err
}

func firstPart(name string) (string, error) {
	if strings.HasSuffix(name, "@OTHER.COM") {
		return "", errors.New("no rule")
	}
	return strings.FieldsFunc(name, func(c rune) bool { return c == '/' || c == '@' })[0], nil
}

// A token's owner has a full name in it, and is known by the short one. He may claim either.
func TestOwnersOfTokensAreShort(t *testing.T) {
	key := newKey(t)
	a, _ := kerberosWorld(t, "alice")
	calls := make(chan ipc.Call, 8)
	_, addr := serve(t, ipc.ServerConfig{Auth: ipc.AuthTokenOrKerberos, Kerberos: a, Secrets: fullSecrets{nmSecrets{key: key}}, Short: firstPart}, whoAmI(calls))
	if err := statuses(t, newClient(t, ipc.ClientConfig{}), addr, ipc.Identity{Token: nmToken(key)}); err != nil {
		t.Fatal(err)
	}
	got := (<-calls).Peer
	if got.User != "alice" || got.RealUser != "oozie" || got.FullUser != "alice@EXAMPLE.COM" || got.FullRealUser != "oozie/h@EXAMPLE.COM" {
		t.Errorf("peer %+v", got)
	}
	if want := "alice@EXAMPLE.COM (auth:TOKEN) via oozie/h@EXAMPLE.COM (auth:TOKEN)"; got.String() != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// Refusals name who acts for another by his full name, also those in the words of who decides.
func TestRefusedProxiesAreNamedInFull(t *testing.T) {
	a, tickets := kerberosWorld(t, "bob")
	_, addr := serve(t, ipc.ServerConfig{
		Auth: ipc.AuthKerberos, Kerberos: a, Short: firstPart,
		MayImpersonate: func(realUser, user string, _ netip.Addr) error {
			return ipc.NewException(ipc.AuthorizationException, "User: %s is not allowed to impersonate %s", realUser, user)
		},
	}, whoAmI(make(chan ipc.Call, 8)))
	err := statuses(t, newClient(t, ipc.ClientConfig{}), addr, ipc.Identity{User: "alice", RealUser: "bob@EXAMPLE.COM", Kerberos: tickets})
	if !ipc.IsClass(err, ipc.AuthorizationException) || !strings.Contains(err.Error(), "User: bob@EXAMPLE.COM is not allowed to impersonate alice") {
		t.Error(err)
	}
}

// ticketsAt are tickets for one address.
type ticketsAt struct {
	*ticketsOf
	addr string
}

func (s *ticketsAt) TicketAt(ctx context.Context, addr, service, host string) (kerberos.Ticket, error) {
	if addr != s.addr {
		return kerberos.Ticket{}, errors.New("unexpected address " + addr)
	}
	return s.Ticket(ctx, service, host)
}

// Who gives tickets learns the address of the server, and so whom to expect there. Each member of a group has another principal.
func TestTicketsKnowTheAddress(t *testing.T) {
	a, tickets := kerberosWorld(t, "alice")
	calls := make(chan ipc.Call, 8)
	_, addr := serve(t, ipc.ServerConfig{Auth: ipc.AuthKerberos, Kerberos: a}, whoAmI(calls))
	c := newClient(t, ipc.ClientConfig{})
	if err := statuses(t, c, addr, ipc.Identity{User: "alice@EXAMPLE.COM", Kerberos: &ticketsAt{tickets, addr}}); err != nil {
		t.Error(err)
	}
	if err := statuses(t, c, addr, ipc.Identity{User: "alice@EXAMPLE.COM", Kerberos: &ticketsAt{tickets, "elsewhere:1"}}); err == nil || !strings.Contains(err.Error(), "unexpected address "+addr) {
		t.Error(err)
	}
}

// Neither side takes less protection than it wants.
func TestProtectionIsNotLowered(t *testing.T) {
	for _, x := range []struct{ server, client sasl.Qualities }{
		{sasl.Qualities{sasl.Privacy}, sasl.Qualities{sasl.Authentication}},
		{sasl.Qualities{sasl.Privacy}, sasl.Qualities{sasl.Integrity, sasl.Authentication}},
		{sasl.Qualities{sasl.Authentication}, sasl.Qualities{sasl.Privacy}},
		{sasl.Qualities{sasl.Integrity, sasl.Authentication}, sasl.Qualities{sasl.Privacy}},
	} {
		a, tickets := kerberosWorld(t, "alice")
		calls := make(chan ipc.Call, 8)
		_, addr := serve(t, ipc.ServerConfig{Auth: ipc.AuthKerberos, Kerberos: a, Protection: x.server}, whoAmI(calls))
		err := statuses(t, newClient(t, ipc.ClientConfig{Protection: x.client}), addr, ipc.Identity{User: "alice@EXAMPLE.COM", Kerberos: tickets})
		if err == nil || !strings.Contains(err.Error(), "No common protection layer") {
			t.Errorf("%v and %v: %v", x.server, x.client, err)
		}
	}
}

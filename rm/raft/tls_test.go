package raft

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"fmt"
	"math/big"
	"net"
	"strings"
	"testing"
	"time"

	"heddle/internal/await"
)

func withSecret(t *testing.T, seed byte, id string) *tls.Config {
	t.Helper()
	conf, err := SecretTLS(bytes.Repeat([]byte{seed}, SeedBytes), id)
	if err != nil {
		t.Fatal(err)
	}
	return conf
}

// authority signs certificates as an organisation's does.
type authority struct {
	cert *x509.Certificate
	key  ed25519.PrivateKey
	pool *x509.CertPool
}

func newAuthority(t *testing.T) *authority {
	t.Helper()
	public, key, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "an authority"}, NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true,
	}
	raw, err := x509.CreateCertificate(rand.Reader, template, template, public, key)
	if err != nil {
		t.Fatal(err)
	}
	a := &authority{key: key, pool: x509.NewCertPool()}
	if a.cert, err = x509.ParseCertificate(raw); err != nil {
		t.Fatal(err)
	}
	a.pool.AddCert(a.cert)
	return a
}

func (a *authority) sign(t *testing.T, name string, dns ...string) *tls.Config {
	t.Helper()
	public, key, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	raw, err := x509.CreateCertificate(rand.Reader, &x509.Certificate{
		SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: name}, DNSNames: dns, NotAfter: time.Now().Add(time.Hour),
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth, x509.ExtKeyUsageServerAuth},
	}, a.cert, public, a.key)
	if err != nil {
		t.Fatal(err)
	}
	cert := &tls.Certificate{Certificate: [][]byte{raw}, PrivateKey: key}
	return CertificateTLS(func() (*tls.Certificate, error) { return cert, nil }, a.pool)
}

func TestGroupsWithTLSWork(t *testing.T) {
	t.Parallel()
	org := newAuthority(t)
	for name, conf := range map[string]func(id string) *tls.Config{
		"secret":       func(id string) *tls.Config { return withSecret(t, 7, id) },
		"certificates": func(id string) *tls.Config { return org.sign(t, "a machine", "a.example.com", id) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			members := group(t, 3, func(c *Config) { c.TLS = conf(c.ID) })
			lead, _ := leader(t, members)
			propose(t, lead, 3)
			transfer(t, lead, "")
			for _, m := range members {
				await.Until(t, m.cfg.ID+" has all entries", func() bool { return len(m.fsm.all()) == 3 })
			}
		})
	}
}

// Whoever doesn't prove that it is a member gets nothing into the log, and isn't even asked for a greeting.
func TestStrangersForgeNoEntries(t *testing.T) {
	t.Parallel()
	org := newAuthority(t)
	m := apart(t, 3)[0]
	m.cfg.TLS = org.sign(t, "rm1")
	m.start(t)
	at := m.cfg.Members[0]
	hello := func(from string) []byte {
		line, err := greeting{Cluster: "test", Group: "any", From: from, Version: ownVersion, Folder: m.dir.identity().Incarnation}.line()
		if err != nil {
			t.Fatal(err)
		}
		return line
	}
	for name, c := range map[string]struct {
		tls  *tls.Config
		from string
		want string
	}{
		"no TLS":                     {nil, "rm2", ""},
		"no certificate":             {&tls.Config{InsecureSkipVerify: true}, "rm2", "tls:"},
		"another secret":             {withSecret(t, 8, "rm2"), "rm2", "tls:"},
		"another authority":          {newAuthority(t).sign(t, "rm2"), "rm2", "tls:"},
		"another member's name":      {org.sign(t, "rm3"), "rm2", "the certificate is that of"},
		"a machine of the authority": {org.sign(t, "web", "web.example.com"), "rm2", "the certificate is that of"},
		"no configured member":       {org.sign(t, "rm9"), "rm9", "is not among the members"},
		"its own name":               {org.sign(t, "rm1"), "rm1", "which is this member"},
	} {
		var conn net.Conn
		conn, err := net.Dial("tcp", at.Address)
		if err != nil {
			t.Fatal(err)
		}
		if c.tls != nil {
			conf := c.tls.Clone()
			conf.InsecureSkipVerify = true // it doesn't care whom it talks to
			conn = tls.Client(conn, conf)
		}
		got, err := exchange(conn, hello(c.from))
		said := string(got) + fmt.Sprint(err)
		if c.want == "" && len(got) > 0 && strings.Contains(string(got), "{") || !strings.Contains(said, c.want) {
			t.Errorf("%s: got %q, want %q", name, said, c.want)
		}
		_ = conn.Close()
	}
	conn := tls.Client(mustDial(t, at.Address), clientTLS(org.sign(t, "rm2"), "rm1"))
	defer conn.Close()
	if got, err := exchange(conn, hello("rm2")); err != nil || !strings.Contains(string(got), `"from":"rm1"`) || strings.Contains(string(got), "refused") {
		t.Errorf("a member is refused: %q, %v", got, err)
	}
}

func mustDial(t *testing.T, address string) net.Conn {
	t.Helper()
	c, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func exchange(c net.Conn, hello []byte) ([]byte, error) {
	if err := c.SetDeadline(time.Now().Add(time.Minute)); err != nil {
		return nil, err
	}
	if _, err := c.Write(hello); err != nil {
		return nil, err
	}
	return readLine(c, maxWelcome)
}

// Who answers for a member must be it.
func TestMembersAreNotTakenForOthers(t *testing.T) {
	t.Parallel()
	org := newAuthority(t)
	members := apart(t, 3)
	for i, m := range members {
		m.cfg.TLS = org.sign(t, m.cfg.ID)
		if i > 0 {
			m.start(t)
		}
	}
	members[0].cfg.TLS = org.sign(t, "rm1")
	members[0].start(t)
	wrong := Member{ID: "rm3", Address: members[1].cfg.Members[1].Address}
	if _, err := members[0].ask(t.Context(), wrong); err == nil || !strings.Contains(err.Error(), `not of member "rm3"`) {
		t.Errorf("rm2 is taken for rm3: %v", err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if _, err := members[0].ask(ctx, members[0].cfg.Members[1]); err != nil {
		t.Error(err)
	}
}

// Silent and slow callers take a place for helloTimeout at most, and there are only so many places.
func TestUnprovenCallersAreFew(t *testing.T) {
	t.Parallel()
	m := apart(t, 3)[0]
	m.cfg.TLS = withSecret(t, 7, "rm1")
	m.start(t)
	for range maxUnproven {
		c := mustDial(t, m.cfg.Members[0].Address)
		defer c.Close()
	}
	await.Until(t, "all places are taken", func() bool { return len(m.stream.unproven) == maxUnproven })
	c := mustDial(t, m.cfg.Members[0].Address)
	defer c.Close()
	if n, err := c.Read(make([]byte, 1)); n != 0 || err == nil {
		t.Errorf("one more is heard: %d bytes, %v", n, err)
	}
	await.Until(t, "the places are free again", func() bool { return len(m.stream.unproven) == 0 })
}

func TestPlainRaftReachesThisMachineOnly(t *testing.T) {
	t.Parallel()
	for address, open := range map[string]bool{"127.0.0.1:0": false, "0.0.0.0:0": true} {
		l, err := net.Listen("tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		if err := CheckListener(l, nil); errors.Is(err, ErrUnsafe) != open {
			t.Errorf("%s: %v", address, err)
		}
		if err := CheckListener(l, withSecret(t, 7, "rm1")); err != nil {
			t.Errorf("%s with TLS: %v", address, err)
		}
		_ = l.Close()
	}
}

func TestOwnCertificatesAreMadeAnew(t *testing.T) {
	conf := withSecret(t, 7, "rm1")
	a, err := conf.GetCertificate(nil)
	if err != nil {
		t.Fatal(err)
	}
	b, err := conf.GetCertificate(nil)
	if err != nil || a != b {
		t.Errorf("a certificate for each connection: %v", err)
	}
	own := &ownCertificate{id: "rm1", made: time.Now().Add(-2 * certAge), cert: a}
	org := newAuthority(t)
	own.authority, own.key = org.cert, org.key
	if c, err := own.get(); err != nil || c == a {
		t.Errorf("an old certificate is used: %v", err)
	}
}

package proxyca

import (
	"crypto"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"net"
	"os"
	"strings"
	"testing"
	"time"

	"heddle/internal/await"
	"heddle/internal/keystore"
	"heddle/yarn/records"
	"heddle/yarn/token"
)

func TestMain(m *testing.M) { os.Exit(await.NoGoroutines(m.Run())) }

func made(t *testing.T) *Authority {
	t.Helper()
	secret, err := New(time.Now())
	if err != nil {
		t.Fatal(err)
	}
	var o Opened
	first, err := o.Open(secret)
	if err != nil {
		t.Fatal(err)
	}
	if again, err := o.Open(secret); again != first || err != nil {
		t.Errorf("the same secret is opened anew: %v", err)
	}
	return first
}

var (
	mine   = records.ApplicationID{ClusterTimestamp: 7, ID: 1}
	theirs = records.ApplicationID{ClusterTimestamp: 7, ID: 2}
)

// stores are what an ApplicationMaster finds, read as it reads them.
func stores(t *testing.T, a *Authority, app records.ApplicationID) (tls.Certificate, *x509.CertPool) {
	t.Helper()
	creds := &token.Credentials{}
	if err := a.Certify(creds, app, time.Now()); err != nil {
		t.Fatal(err)
	}
	raw, err := creds.Encode(token.FormatWritable)
	if err != nil {
		t.Fatal(err)
	}
	all := Stores(raw)
	if len(all) != 2 || all[0].Location != "KEYSTORE_FILE_LOCATION" || all[0].PasswordVariable != "KEYSTORE_PASSWORD" || all[0].File != "yarn_provided.keystore" ||
		all[1].Location != "TRUSTSTORE_FILE_LOCATION" || all[1].PasswordVariable != "TRUSTSTORE_PASSWORD" || all[1].File != "yarn_provided.truststore" || all[0].Password == all[1].Password {
		t.Fatalf("stores %+v", all)
	}
	own, err := keystore.Parse(all[0].Content, all[0].Password, "")
	if err != nil {
		t.Fatal(err)
	}
	trust, err := keystore.Parse(all[1].Content, all[1].Password, "")
	if err != nil {
		t.Fatal(err)
	}
	pair := own.Keys[0].Certificate()
	pool := x509.NewCertPool()
	pool.AddCert(trust.Trusted[0])
	return pair, pool
}

// shake has the proxy connect to a server for an application, and returns what each of them finds.
func shake(t *testing.T, server *tls.Config, a *Authority, app records.ApplicationID) (proxy, master error) {
	t.Helper()
	at, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer at.Close()
	done := make(chan error, 1)
	go func() {
		c, err := at.Accept()
		if err == nil {
			s := tls.Server(c, server)
			err = s.HandshakeContext(t.Context())
			_ = s.Close()
		}
		done <- err
	}()
	c, err := tls.Dial("tcp", at.Addr().String(), a.Client(app, "localhost"))
	if err == nil {
		_, _ = c.Read(make([]byte, 1)) // a client of TLS 1.3 is done before the server
		_ = c.Close()
	}
	return err, <-done
}

// The proxy takes the certificate of the application that it asks for alone, and shows one that the ApplicationMaster can check.
func TestEachKnowsTheOther(t *testing.T) {
	a := made(t)
	pair, pool := stores(t, a, mine)
	server := &tls.Config{Certificates: []tls.Certificate{pair}, ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: pool}
	if proxy, master := shake(t, server, a, mine); proxy != nil || master != nil {
		t.Errorf("proxy: %v; ApplicationMaster: %v", proxy, master)
	}
	if proxy, _ := shake(t, server, a, theirs); proxy == nil || !strings.Contains(proxy.Error(), `the certificate is that of "CN=application_7_0001"`) {
		t.Errorf("for another application: %v", proxy)
	}
	if proxy, _ := shake(t, server, made(t), mine); proxy == nil || !strings.HasPrefix(proxy.Error(), "x509: ") {
		t.Errorf("of another cluster: %v", proxy)
	}
	if _, master := shake(t, &tls.Config{Certificates: []tls.Certificate{pair}, ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: pool}, made(t), mine); master == nil {
		t.Error("an ApplicationMaster takes another cluster's proxy")
	}
}

// An ApplicationMaster may not vouch for others with the key that it was given.
func TestCertificatesVouchForNoOthers(t *testing.T) {
	a := made(t)
	pair, _ := stores(t, a, mine)
	issuer, err := x509.ParseCertificate(pair.Certificate[0])
	if err != nil {
		t.Fatal(err)
	}
	forger := &Authority{cert: issuer, key: pair.PrivateKey.(crypto.Signer)}
	_, forged, err := forger.issue(theirs, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	for _, chain := range [][]*x509.Certificate{{forged, issuer}, {forged, issuer, a.cert}, {forged, a.cert}, {issuer, a.cert}, {a.cert}, nil} {
		if err := a.verify(chain, theirs, "localhost"); err == nil {
			t.Errorf("%d certificates are taken", len(chain))
		}
	}
	key, cert, err := a.issue(mine, time.Now())
	if err != nil || key == nil {
		t.Fatal(err)
	}
	for _, name := range []pkix.Name{{CommonName: mine.String(), Country: []string{"X"}}, {Organization: []string{mine.String()}}} {
		wanted := *cert
		wanted.Subject, wanted.RawSubject = name, nil
		other, err := sign(&wanted, a.cert, key.Public(), a.key)
		if err != nil {
			t.Fatal(err)
		}
		if err := a.verify([]*x509.Certificate{other}, mine, "localhost"); err == nil {
			t.Errorf("%v is taken for the application's", other.Subject)
		}
	}
}

func TestSecretsThatAreNone(t *testing.T) {
	for _, secret := range []string{"", "-----BEGIN CERTIFICATE-----\n", "x"} {
		if a, err := Open([]byte(secret)); err == nil {
			t.Errorf("%q is opened: %+v", secret, a)
		}
	}
	for _, raw := range []string{"", "HDTS\x00\x00\x00", keystoreAlias, "HDTS\x00\x00\x01\x1cyarn.application.am.keystore\xff"} {
		if all := Stores([]byte(raw)); len(all) > 0 {
			t.Errorf("%q has stores %+v", raw, all)
		}
	}
}

package keystore

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"math/big"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"heddle/internal/needs"
)

// What is written is read again, by Java too.
func TestJKS(t *testing.T) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	wanted := &x509.Certificate{SerialNumber: big.NewInt(7), Subject: pkix.Name{CommonName: "am"}}
	der, err := x509.CreateCertificate(rand.Reader, wanted, wanted, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	chain := []*x509.Certificate{cert}
	file, err := JKS("storepass", time.Now(), Key{Alias: "server", Private: key, Chain: chain}, Key{Alias: "client", Chain: chain})
	if err != nil {
		t.Fatal(err)
	}
	s, err := Parse(file, "storepass", "")
	if err != nil || len(s.Keys) != 1 || s.Keys[0].Alias != "server" || !key.Equal(s.Keys[0].Private) || !s.Keys[0].Chain[0].Equal(cert) || len(s.Trusted) != 1 || !s.Trusted[0].Equal(cert) {
		t.Errorf("%+v, %v", s, err)
	}
	if _, err := Parse(file, "another", ""); !errors.Is(err, ErrPassword) {
		t.Errorf("another password: %v", err)
	}
	path := filepath.Join(t.TempDir(), "made.jks")
	if err := os.WriteFile(path, file, 0o600); err != nil {
		t.Fatal(err)
	}
	// A request for a signature needs the private key.
	out, err := exec.CommandContext(t.Context(), needs.Program(t, "keytool"), "-certreq", "-keystore", path, "-storepass", "storepass", "-alias", "server").CombinedOutput()
	if err != nil || !strings.Contains(string(out), "BEGIN NEW CERTIFICATE REQUEST") {
		t.Errorf("keytool: %v\n%s", err, out)
	}
	out, err = exec.CommandContext(t.Context(), "keytool", "-list", "-keystore", path, "-storepass", "storepass").CombinedOutput()
	if err != nil || !strings.Contains(string(out), "trustedCertEntry") || !strings.Contains(string(out), "PrivateKeyEntry") {
		t.Errorf("keytool: %v\n%s", err, out)
	}
}

package usergroups

import (
	"bytes"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"heddle/internal/await"
	"heddle/internal/needs"
)

// slapd is OpenLDAP's server on a port of its own.
type slapd struct {
	t    *testing.T
	port int
	cmd  *exec.Cmd
	out  bytes.Buffer
}

// people are alice, whom four kinds of groups have, and bob, who is alone.
const people = `dn: dc=example,dc=com
objectClass: dcObject
objectClass: organization
o: Example
dc: example

dn: ou=people,dc=example,dc=com
objectClass: organizationalUnit
ou: people

dn: ou=groups,dc=example,dc=com
objectClass: organizationalUnit
ou: groups

dn: ou=posix,dc=example,dc=com
objectClass: organizationalUnit
ou: posix

dn: uid=alice,ou=people,dc=example,dc=com
objectClass: inetOrgPerson
objectClass: posixAccount
cn: Alice
sn: A
uid: alice
uidNumber: 1001
gidNumber: 2001
homeDirectory: /home/alice
seeAlso: cn=Analysts,ou=groups,dc=example,dc=com

dn: uid=bob,ou=people,dc=example,dc=com
objectClass: inetOrgPerson
objectClass: posixAccount
cn: Bob
sn: B
uid: bob
uidNumber: 1002
gidNumber: 2999
homeDirectory: /home/bob

dn: cn=lookup,ou=people,dc=example,dc=com
objectClass: inetOrgPerson
cn: lookup
sn: lookup
userPassword: the secret

dn: cn=stored,ou=people,dc=example,dc=com
objectClass: inetOrgPerson
cn: stored
sn: stored
userPassword: storepass

dn: cn=Analysts,ou=groups,dc=example,dc=com
objectClass: groupOfNames
cn: Analysts
member: uid=alice,ou=people,dc=example,dc=com

dn: cn=Staff,ou=groups,dc=example,dc=com
objectClass: groupOfNames
cn: Staff
member: cn=Analysts,ou=groups,dc=example,dc=com

dn: cn=All,ou=groups,dc=example,dc=com
objectClass: groupOfNames
cn: All
member: cn=Staff,ou=groups,dc=example,dc=com
member: cn=All,ou=groups,dc=example,dc=com

dn: cn=primary,ou=posix,dc=example,dc=com
objectClass: posixGroup
cn: primary
gidNumber: 2001

dn: cn=extra,ou=posix,dc=example,dc=com
objectClass: posixGroup
cn: extra
gidNumber: 2002
memberUid: alice
`

// startSlapd starts a server with people. With the files of a certificate and its key it speaks TLS.
func startSlapd(t *testing.T, certificate, key string) *slapd {
	t.Helper()
	server, add := needs.Program(t, "slapd"), needs.Program(t, "slapadd")
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "data"), 0o700); err != nil {
		t.Fatal(err)
	}
	text := "modulepath /usr/lib/ldap\nmoduleload back_mdb\n"
	for _, schema := range []string{"core", "cosine", "nis", "inetorgperson"} {
		text += "include /etc/ldap/schema/" + schema + ".schema\n"
	}
	scheme := "ldap"
	if certificate != "" {
		scheme = "ldaps"
		text += fmt.Sprintf("TLSCertificateFile %s\nTLSCertificateKeyFile %s\n", certificate, key)
	}
	text += fmt.Sprintf("database mdb\nsuffix dc=example,dc=com\ndirectory %s/data\nmaxsize 10485760\naccess to attrs=userPassword by anonymous auth by * none\naccess to * by users read by anonymous read\n", dir)
	config, data := filepath.Join(dir, "slapd.conf"), filepath.Join(dir, "people.ldif")
	for name, content := range map[string]string{config: text, data: people} {
		if err := os.WriteFile(name, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if out, err := exec.CommandContext(t.Context(), add, "-f", config, "-l", data).CombinedOutput(); err != nil {
		t.Fatalf("slapadd: %v\n%s", err, out)
	}
	s := &slapd{t: t, port: freePort(t)}
	s.cmd = exec.CommandContext(t.Context(), server, "-f", config, "-h", fmt.Sprintf("%s://127.0.0.1:%d", scheme, s.port), "-d", "0")
	s.cmd.Stdout, s.cmd.Stderr = &s.out, &s.out
	if err := s.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.kill)
	await.Until(t, "slapd listens", func() bool {
		c, err := net.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", s.port))
		if err == nil {
			_ = c.Close()
		}
		return err == nil
	})
	return s
}

func (s *slapd) kill() {
	_ = s.cmd.Process.Kill()
	_ = s.cmd.Wait()
}

func freePort(t *testing.T) int {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port
}

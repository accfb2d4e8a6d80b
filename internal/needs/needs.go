// Package needs lets tests name the programs that they need. A test without its program fails: a skipped test proves nothing, and
// goes unnoticed.
package needs

import (
	"os/exec"
	"testing"
)

// packages are Debian's packages whose names differ from their programs'.
var packages = map[string]string{
	"java":               "default-jdk-headless",
	"javac":              "default-jdk-headless",
	"jar":                "default-jdk-headless",
	"mvn":                "maven",
	"python3":            "python3",
	"qemu-system-x86_64": "qemu-system-x86",
	"mkfs.ext4":          "e2fsprogs",
	"dpkg-deb":           "dpkg",
	"krb5kdc":            "krb5-kdc",
	"kdb5_util":          "krb5-kdc",
	"kadmin.local":       "krb5-admin-server",
	"kinit":              "krb5-user",
	"slapd":              "slapd",
	"slapadd":            "slapd",
	"tar2sqfs":           "squashfs-tools-ng",
}

// Program returns the path of a program. Without the program the test fails, and says how to install it.
func Program(t testing.TB, name string) string {
	t.Helper()
	path, err := exec.LookPath(name)
	if err != nil {
		t.Fatalf("this test needs %s: %v; `apt-get install %s` installs it", name, err, Package(name))
	}
	return path
}

// Package returns the Debian package of a program.
func Package(program string) string {
	if p := packages[program]; p != "" {
		return p
	}
	return program
}

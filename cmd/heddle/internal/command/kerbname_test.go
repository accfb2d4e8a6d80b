package command

import (
	"bytes"
	"strings"
	"testing"

	"heddle/conf"
	"heddle/conf/conftest"
)

func TestKerbname(t *testing.T) {
	c := conftest.With(t, map[string]string{"hadoop.security.auth_to_local": `RULE:[1:$1@$0](.*@A\.TEST)s/@.*//L`})
	run := func(args ...string) (string, error) {
		cmd := kerbname.command(func(string, []string) (*conf.Config, error) { return c, nil })
		var out bytes.Buffer
		cmd.SetOut(&out)
		cmd.SetErr(&out)
		cmd.SetArgs(args)
		err := cmd.Execute()
		return out.String(), err
	}
	if out, err := run("Alice@A.TEST", "bob"); err != nil || out != "Name: Alice@A.TEST to alice\nName: bob to bob\n" {
		t.Errorf("%q, %v", out, err)
	}
	if out, err := run("Alice@B.TEST"); err == nil || !strings.Contains(out, "No rules applied to Alice@B.TEST") {
		t.Errorf("%q, %v", out, err)
	}
}

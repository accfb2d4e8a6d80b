package protection

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"heddle/conf"
	"heddle/conf/conftest"
	"heddle/conf/secure"
)

// check returns what Problems refuses for both daemons.
func check(c *conf.Config) error { return conf.Report{Problems: Problems(c, both)}.Err() }

// A daemon that somebody believes to be protected, and that isn't, doesn't start.
func TestProtectionWithoutEffectIsRefused(t *testing.T) {
	for _, p := range settings {
		c, err := conf.Load(conf.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if err := check(c); err != nil {
			t.Fatalf("defaults: %v", err)
		}
		for _, h := range p.harmless {
			c.Set(p.key, h)
			if err := check(c); err != nil {
				t.Errorf("%s = %s: %v", p.key, h, err)
			}
		}
		c.Set(p.key, "true")
		if err := check(c); p.by != 0 && (err == nil || !strings.Contains(err.Error(), p.key) || !strings.Contains(err.Error(), "set it")) {
			t.Errorf("%s: %v", p.key, err)
		}
		for _, role := range []conf.Role{conf.ResourceManager, conf.NodeManager, conf.Client} {
			found := Problems(c, role)
			if len(found) != 1 || (found[0].Severity == conf.Error) != (p.by&role != 0) {
				t.Errorf("%s for %v: %v", p.key, role, found)
			}
		}
	}
}

// On a cluster with Kerberos administrators learn what web ports believe.
func TestWebPortsOfClustersWithKerberos(t *testing.T) {
	const filters, kind = "hadoop.http.filter.initializers", "hadoop.http.authentication.type"
	for _, x := range []struct{ filters, kind, key string }{
		{"", "", filters},
		{"", "kerberos", filters},
		{"org.apache.hadoop.security.AuthenticationFilterInitializer", "simple", kind},
		{"org.apache.hadoop.security.AuthenticationFilterInitializer", "kerberos", ""},
	} {
		for _, role := range []conf.Role{conf.NodeManager, conf.ResourceManager, conf.Client} {
			c := conftest.With(t, map[string]string{filters: x.filters, kind: x.kind, "fs.defaultFS": "hdfs://nn:8020"})
			if found := Problems(c, role); len(found) > 0 {
				t.Errorf("without Kerberos: %v", found)
			}
			c.Set(secure.Authentication, "kerberos")
			found := Problems(c, role)
			if warned := x.key != "" && role != conf.Client; len(found) != 0 != warned || warned && (len(found) != 1 || found[0].Severity != conf.Warning || found[0].Key != x.key) {
				t.Errorf("%+v for %v: %v", x, role, found)
			}
		}
	}
}

// security finds the settings that may ask for a protection, by their names.
var security = regexp.MustCompile(`(?i)acl|secur|auth|ssl|tls|https|token|secret|sandbox|protection|csrf|xframe|xfs|impersonation|proxyuser|proxy-user|privacy|encrypt|whitelist|` +
	`allowed|allow-|credential|keytab|principal|crypto|password|log-monitor|permission|fallback|umask|hidden|sensitive|filter|mutation|runtime`)

// A list of eight settings was refused, and the others that ask for a protection had no effect without a word. Each of Hadoop's settings whose
// name sounds like security is honoured, refused, or on the list of those that are harmless, with the reason.
func TestEverySettingOfSecurityIsHonouredRefusedOrHarmless(t *testing.T) {
	refused := map[string]bool{"hadoop.security.authorization": true}
	for _, p := range settings {
		refused[p.key] = true
	}
	read := func(file string) (lines []string) {
		raw, err := os.ReadFile(filepath.Join("testdata", file))
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(raw)) {
			if line = strings.TrimSuffix(line, "\n"); line != "" && line[0] != '#' {
				lines = append(lines, line)
			}
		}
		return lines
	}
	type reason struct {
		pattern string
		used    bool
	}
	var harmless []*reason
	for _, line := range read("harmless-security.tsv") {
		pattern, why, _ := strings.Cut(line, "\t")
		if strings.TrimSpace(why) == "" {
			t.Errorf("%s is harmless without a reason", pattern)
		}
		pattern, sometimes := strings.CutPrefix(pattern, "?")
		harmless = append(harmless, &reason{pattern: pattern, used: sometimes})
	}
	names := read("security-keys.txt") // of core-default.xml and mapred-default.xml
	for _, line := range read("../../facts/yarn-keys.tsv") {
		name, _, _ := strings.Cut(line, "\t")
		names = append(names, name)
	}
	checked := 0
	for _, name := range names {
		if !security.MatchString(name) {
			continue
		}
		checked++
		if k, ok := conf.FindKey(strings.NewReplacer("<", "", ">", "").Replace(name)); ok && k.Implemented || refused[name] {
			continue
		}
		i := slices.IndexFunc(harmless, func(r *reason) bool {
			before, wild := strings.CutSuffix(r.pattern, "*")
			return r.pattern == name || wild && strings.HasPrefix(name, before)
		})
		if i < 0 {
			t.Errorf("%s must be honoured, refused, or on the list of those that are harmless", name)
			continue
		}
		harmless[i].used = true
	}
	for _, r := range harmless {
		if !r.used {
			t.Errorf("%s is on the list, and needn't be", r.pattern)
		}
	}
	if checked < 300 {
		t.Errorf("only %d settings were looked at", checked)
	}
}

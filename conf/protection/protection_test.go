package protection

import (
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"heddle/conf"
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

// Service ACLs that admit everybody, as the policy file that comes with Hadoop, kept daemons from starting for nothing. Others are named, with their protocol.
func TestPoliciesThatAdmitEverybodyAreFine(t *testing.T) {
	for name, x := range map[string]struct {
		policy string   // lines key=value of hadoop-policy.xml
		core   []string // and of core-site.xml
		wrong  []string // the keys that errors name; none: fine
	}{
		"no file":              {},
		"Hadoop's own":         {policy: "security.resourcetracker.protocol.acl=*\nsecurity.applicationclient.protocol.acl= *\nsecurity.client.protocol.acl=*"},
		"HDFS's daemons":       {policy: "security.datanode.protocol.acl=hdfs\nsecurity.admin.operations.protocol.acl= hadoop\nsecurity.mrhs.client.protocol.acl=mapred"},
		"nodes":                {policy: "security.resourcetracker.protocol.acl=yarn", wrong: []string{"security.resourcetracker.protocol.acl"}},
		"nobody":               {policy: "security.applicationclient.protocol.acl= ", wrong: []string{"security.applicationclient.protocol.acl"}},
		"blocked":              {policy: "security.applicationclient.protocol.acl=*\nsecurity.applicationclient.protocol.acl.blocked=eve", wrong: []string{"security.applicationclient.protocol.acl.blocked"}},
		"hosts":                {policy: "security.containermanagement.protocol.hosts=10.0.0.0/8", wrong: []string{"security.containermanagement.protocol.hosts"}},
		"a default":            {core: []string{"security.service.authorization.default.acl=yarn"}, wrong: []string{"security.service.authorization.default.acl", "security.ha.service.protocol"}},
		"a default, and all *": {core: []string{"security.service.authorization.default.acl.blocked= "}},
		"in core-site.xml":     {core: []string{"security.resourcemanager-administration.protocol.acl=admin"}, wrong: []string{"security.resourcemanager-administration.protocol.acl"}},
	} {
		dir := t.TempDir()
		write := func(file string, lines []string) {
			var b strings.Builder
			b.WriteString("<configuration>")
			for _, line := range lines {
				key, value, _ := strings.Cut(line, "=")
				b.WriteString("<property><name>" + key + "</name><value>" + value + "</value></property>")
			}
			b.WriteString("</configuration>")
			if err := os.WriteFile(filepath.Join(dir, file), []byte(b.String()), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		write("core-site.xml", append(x.core, "hadoop.security.authorization=true"))
		if x.policy != "" {
			write("hadoop-policy.xml", strings.Split(x.policy, "\n"))
		}
		c, err := conf.Load(conf.Options{Dir: dir})
		if err != nil {
			t.Fatal(err)
		}
		err = check(c)
		if (err != nil) != (len(x.wrong) > 0) {
			t.Errorf("%s: %v", name, err)
		}
		for _, key := range x.wrong {
			if err != nil && !strings.Contains(err.Error(), key) {
				t.Errorf("%s: %v", name, err)
			}
		}
		c.Set("hadoop.security.authorization", "false")
		if err := check(c); err != nil {
			t.Errorf("%s, with service ACLs off: %v", name, err)
		}
	}
	dir := t.TempDir()
	if err := errors.Join(os.WriteFile(filepath.Join(dir, "core-site.xml"), []byte("<configuration/>"), 0o600), os.WriteFile(filepath.Join(dir, "hadoop-policy.xml"), []byte("<configuration"), 0o600)); err != nil {
		t.Fatal(err)
	}
	c, err := conf.Load(conf.Options{Dir: dir, Overrides: []string{"hadoop.security.authorization=true"}})
	if err != nil {
		t.Fatal(err)
	}
	if err := check(c); err == nil || !strings.Contains(err.Error(), "hadoop-policy.xml") {
		t.Errorf("a policy that can't be read: %v", err)
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

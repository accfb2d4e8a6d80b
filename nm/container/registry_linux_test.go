package container

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	"heddle/internal/await"
	"heddle/internal/imagetest"
	"heddle/internal/userfiles"
	"heddle/nm/image"
	"heddle/nm/image/registry"
	"heddle/nm/localizer"
	"heddle/yarn/pb"
	"heddle/yarn/token"
)

const (
	registryUser, registryPassword = "ann", "open sesame"
	registryHash                   = "$2a$04$hwpLyOfYzqAVdcd/N.xhGOZ3/umj1rUGhankS.0ZJVn0rMgj3QbwK" // of the password
	registryLogin                  = "YW5uOm9wZW4gc2VzYW1l"
)

// Containers run in images that the node pulls from a real registry with passwords: with a login of the application's tokens, as Hadoop's
// clients make them, or of a file that the container names and its user may read. Others are refused. An image that is here runs without the
// registry; one whose tag has moved, and whose layers are neither here nor there, is pulled anew.
func TestPulledImages(t *testing.T) {
	r := imagetest.StartRegistry(t, imagetest.RegistryOptions{User: registryUser, Pass: registryPassword, Hash: registryHash})
	of := func(content string) imagetest.Image {
		return imagetest.Image{Layers: []imagetest.Layer{imagetest.Programs(t, "cat", "cp", "ls", "chmod", "find"), imagetest.Tar(t, imagetest.File("from", content))}, Zstd: true}
	}
	old := r.Push(t, of("the first"), "team/x", "1")
	l := newImageLab(t, func(cfg *image.Config) {
		cfg.Registry = &registry.Config{Registries: []registry.Registry{{Host: r.Host, Plain: true}}}
		cfg.Source = localizer.Sources{"file": localizer.LocalFiles{Owner: func(user string) (*userfiles.User, error) {
			return &userfiles.User{UID: 20000 + len(user), GID: 20000 + len(user)}, nil
		}}}
		for _, k := range cfg.Settings.Kinds {
			k.Section["trusted.registries"] += "," + r.Host
		}
	})
	logins := l.dir + "/logins.json"
	if err := os.WriteFile(logins, fmt.Appendf(nil, `{"auths":{%q:{"auth":%q}}}`, r.Host, registryLogin), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chown(logins, 20000+len("beth"), 0); err != nil {
		t.Fatal(err)
	}
	const file = "YARN_CONTAINER_RUNTIME_DOCKER_CLIENT_CONFIG"
	n := int64(0)
	try := func(user, name string, tokens []byte, more ...string) Status {
		n++
		return waitDone(t, l.run(job{id: containerID(20+int32(len(user)), n), user: user, tokens: tokens, env: asksFor(name, more...), command: "cat /from > <LOG_DIR>/stdout; exit 7"}))
	}
	name := r.Host + "/team/x:1"
	for _, c := range []struct {
		user, name string
		tokens     []byte
		more       []string
		want       string // content of the image, or diagnostics
	}{
		{"carol", name, nil, nil, "it wants a login"},
		{"ann", name, loginToken(t, r.Host, registryLogin), nil, "the first"},
		{"carol", name, nil, nil, "it wants a login"}, // also of what is here now
		{"beth", name, nil, []string{file, "file://" + logins}, "the first"},
		{"carol", name, nil, []string{file, "file://" + logins}, "permission denied"},
		{"ann", r.Host + "/team/none:1", loginToken(t, r.Host, registryLogin), nil, "no such image"},
		{"ann", "team/none:1", nil, nil, "no such image"},
		{"beth", r.Host + "/team/x@sha256:" + old, nil, []string{file, logins}, "no file system"},
		{"beth", r.Host + "/team/x@sha256:" + old, nil, []string{file, "file://" + logins}, "the first"},
	} {
		s := try(c.user, c.name, c.tokens, c.more...)
		got := s.Diagnostics
		if s.ExitCode == 7 {
			got = logOf(t, s, "stdout")
		}
		if !strings.Contains(got, c.want) || strings.Contains(s.Diagnostics, registryLogin) {
			t.Errorf("%s, %s: exit code %d, %q; want %q", c.user, c.name, s.ExitCode, got, c.want)
		}
	}
	moveTheTag(t, l, r, of("the second"), old, try)
}

func moveTheTag(t *testing.T, l *lab, r *imagetest.Registry, to imagetest.Image, old string, try func(string, string, []byte, ...string) Status) {
	name, login := r.Host+"/team/x:1", loginToken(t, r.Host, registryLogin)
	r.Push(t, to, "team/x", "1")
	r.Delete(t, "team/x", old)
	if s := try("ann", name, login); s.ExitCode != 7 || logOf(t, s, "stdout") != "the first" {
		t.Errorf("of a tag that has moved: exit code %d; %s", s.ExitCode, s.Diagnostics)
	}
	l.node.close()
	l.node = nil
	if err := os.RemoveAll(l.dir + "/layers/layers"); err != nil {
		t.Fatal(err)
	}
	l.start()
	c := l.run(job{id: containerID(40, 1), user: "ann", tokens: login, env: asksFor(name), command: "cat /from > <LOG_DIR>/stdout; exit 7"})
	if s := waitDone(t, c); s.ExitCode != 7 {
		t.Errorf("after its layers have gone: exit code %d; %s", s.ExitCode, s.Diagnostics)
	}
	r.Stop()
	if s := try("ann", name, login); s.ExitCode != 7 {
		t.Errorf("without the registry: exit code %d; %s", s.ExitCode, s.Diagnostics)
	}
	await.Until(t, "nothing that was fetched is left", func() bool {
		left, err := os.ReadDir(l.dir + "/layers/fetched")
		return err == nil && len(left) == 0
	})
}

// loginToken returns credentials with a login, as Hadoop's clients make them of a config.json of Docker's.
func loginToken(t *testing.T, host, login string) []byte {
	t.Helper()
	id := &pb.DockerCredentialTokenIdentifier{}
	id.SetRegistryUrl(host)
	b, err := proto.Marshal(id)
	if err != nil {
		t.Fatal(err)
	}
	c := &token.Credentials{}
	c.SetToken(host, token.Token{Identifier: b, Password: []byte(login), Kind: registry.TokenKind, Service: host})
	text, err := c.Encode(token.FormatWritable)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

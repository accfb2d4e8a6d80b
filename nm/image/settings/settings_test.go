package settings_test

import (
	"os"
	"strings"
	"testing"

	"heddle/conf/conftest"
	"heddle/nm/image/settings"
)

const runtimes = "yarn.nodemanager.runtime.linux."

func TestImagesOfAConfiguration(t *testing.T) {
	dir := t.TempDir()
	profile := dir + "/seccomp.json"
	if err := os.WriteFile(profile, []byte(`{"defaultAction":"SCMP_ACT_ALLOW"}`), 0o644); err != nil {
		t.Fatal(err)
	}
	sections := map[string]map[string]string{"docker": {"module.enabled": "true", "trusted.registries": "library", "allowed.networks": "host"}}
	asks := map[string]string{"YARN_CONTAINER_RUNTIME_TYPE": "docker", "YARN_CONTAINER_RUNTIME_DOCKER_IMAGE": "busybox"}
	for name, c := range map[string]struct {
		keys map[string]string
		want string // image, note or error
	}{
		"by default":              {nil, "none"},
		"allowed without folders": {map[string]string{runtimes + "allowed-runtimes": "default,docker"}, "images.registries names a place"},
		"allowed":                 {map[string]string{runtimes + "allowed-runtimes": "default,Docker", "heddle.nodemanager.images.dirs": dir}, "busybox:latest"},
		"runc alone":              {map[string]string{runtimes + "allowed-runtimes": "runc", "heddle.nodemanager.images.dirs": dir}, "not asked for"},
		"a profile":               {map[string]string{runtimes + "allowed-runtimes": "docker", "heddle.nodemanager.images.dirs": dir, runtimes + "runc.seccomp-profile": profile}, "busybox:latest"},
		"no profile":              {map[string]string{runtimes + "allowed-runtimes": "docker", "heddle.nodemanager.images.dirs": dir, runtimes + "runc.seccomp-profile": dir}, "seccomp-profile"},
		"no network":              {map[string]string{runtimes + "allowed-runtimes": "docker", "heddle.nodemanager.images.dirs": dir, runtimes + "docker.default-container-network": "none"}, "docker.allowed.networks"},
		"others' store":           {map[string]string{runtimes + "allowed-runtimes": "docker", "heddle.nodemanager.images.dirs": dir, "heddle.nodemanager.images.store": open(t) + "/x"}, "images.store"},
		"a registry":              {map[string]string{runtimes + "allowed-runtimes": "docker", ours + "registries": "r.example.com,http://10.0.0.1:5000"}, "busybox:latest"},
		"no registry":             {map[string]string{runtimes + "allowed-runtimes": "docker", ours + "registries": "ftp://x"}, "images.registries"},
		"logins":                  {map[string]string{runtimes + "allowed-runtimes": "docker", ours + "registries": "r", ours + "registry-logins": file(t, 0o600, `{"auths":{}}`)}, "busybox:latest"},
		"logins for all":          {map[string]string{runtimes + "allowed-runtimes": "docker", ours + "registries": "r", ours + "registry-logins": file(t, 0o644, `{"auths":{}}`)}, "chmod 600"},
		"no logins":               {map[string]string{runtimes + "allowed-runtimes": "docker", ours + "registries": "r", ours + "registry-logins": file(t, 0o600, `secret`)}, "registry-logins"},
		"no authorities":          {map[string]string{runtimes + "allowed-runtimes": "docker", ours + "registries": "r", ours + "registry-ca": file(t, 0o644, `x`)}, "registry-ca"},
		"a plug-in":               {map[string]string{runtimes + "allowed-runtimes": "runc", runtimes + "runc.image-tag-to-manifest-plugin": "com.example.Plugin"}, "com.example.Plugin"},
		"others' images":          {map[string]string{runtimes + "allowed-runtimes": "docker", "heddle.nodemanager.images.dirs": open(t)}, "images.dirs"},
	} {
		cfg, note, err := settings.Of(conftest.With(t, c.keys), sections, dir+"/state")
		got := note
		switch {
		case err != nil:
			got = err.Error()
		case cfg == nil && note == "":
			got = "none"
		case cfg != nil:
			if cfg.Store.Dir != dir+"/state/images" || cfg.Store.MaxBytes != 50<<30 || cfg.Runtime != "crun" {
				t.Errorf("%s: %+v", name, cfg)
			}
			r, err := cfg.Settings.Read(asks)
			switch {
			case err != nil:
				got = err.Error()
			case r == nil:
				got = "not asked for"
			default:
				got = r.Image.String()
			}
		}
		if !strings.Contains(got, c.want) {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

const ours = "heddle.nodemanager.images."

func file(t *testing.T, mode os.FileMode, text string) string {
	path := t.TempDir() + "/file"
	if err := os.WriteFile(path, []byte(text), mode); err != nil {
		t.Fatal(err)
	}
	return path
}

// open returns a folder that all users may write to.
func open(t *testing.T) string {
	dir := t.TempDir()
	if err := os.Chmod(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	return dir
}

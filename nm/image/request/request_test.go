package request_test

import (
	"fmt"
	"path"
	"slices"
	"strings"
	"testing"

	"heddle/nm/image/request"
)

const docker = "YARN_CONTAINER_RUNTIME_DOCKER_"

func terms() request.Terms {
	return request.Terms{
		Networks: []string{"host", "none", "bridge"}, Network: "host", Runtimes: []string{"runc"},
		Capabilities: []string{"CHOWN", "SYS_ADMIN"}, ROMounts: []string{"/etc/krb5.conf:/etc/krb5.conf"},
		Section: request.Section{
			"module.enabled": "true", "trusted.registries": "library,team", "allowed.networks": "host,bridge", "allowed.capabilities": "chown,kill",
			"allowed.ro-mounts": "/data,/etc/krb5.conf", "allowed.rw-mounts": "/scratch/",
		},
	}
}

func env(more ...string) map[string]string {
	e := map[string]string{"YARN_CONTAINER_RUNTIME_TYPE": "docker", docker + "IMAGE": "team/x:1"}
	for i := 0; i+1 < len(more); i += 2 {
		e[docker+more[i]] = more[i+1]
	}
	return e
}

// What no administrator has allowed is refused, and the refusal says what would allow it, if anything does.
func TestRefusals(t *testing.T) {
	for name, c := range map[string]struct {
		env    map[string]string
		change func(*request.Terms)
		want   string
	}{
		"usual":                   {env(), nil, ""},
		"module off":              {env(), func(t *request.Terms) { t.Section = request.Section{} }, "module.enabled"},
		"no image":                {env("IMAGE", ""), nil, docker + "IMAGE not set"},
		"image by key":            {env("IMAGE", ""), func(t *request.Terms) { t.Image = "busybox" }, ""},
		"odd image":               {env("IMAGE", "x;id"), nil, "doesn't match docker image name pattern"},
		"untrusted":               {env("IMAGE", "evil/x"), nil, "docker.trusted.registries"},
		"privileged":              {env("RUN_PRIVILEGED_CONTAINER", "TRUE"), func(t *request.Terms) { t.Privileged = true }, "Heddle never"},
		"runtime":                 {env("RUNTIME", "kata"), nil, "allowed-container-runtimes"},
		"ports":                   {env("PORTS_MAPPING", "80:80"), nil, "ports are mapped"},
		"network of the site":     {env("CONTAINER_NETWORK", "sdn"), nil, "allowed-container-networks"},
		"network of the node":     {env("CONTAINER_NETWORK", "none"), nil, "docker.allowed.networks"},
		"network of Docker":       {env("CONTAINER_NETWORK", "bridge"), nil, "Heddle gives"},
		"two networks":            {env("CONTAINER_NETWORK", "host,none"), nil, "Disallowed network"},
		"odd host":                {env("CONTAINER_HOSTNAME", "a b"), nil, "hostname pattern"},
		"long host":               {env("CONTAINER_HOSTNAME", strings.Repeat("a", 65)), nil, "hostname pattern"},
		"host's processes":        {env("CONTAINER_PID_NAMESPACE", "host"), nil, "host-pid-namespace.allowed"},
		"by yarn-site alone":      {env("CONTAINER_PID_NAMESPACE", "host"), func(t *request.Terms) { t.HostPID = true }, "container-executor.cfg"},
		"none and another":        {env(), func(t *request.Terms) { t.Capabilities = []string{"none", "KILL"} }, "none keyword"},
		"mount over the root":     {env("MOUNTS", "/data:/:ro"), nil, "hide the image"},
		"mount over proc":         {env("MOUNTS", "/data:/proc/sys:ro"), nil, "nothing may be mounted"},
		"mount over dev":          {env("MOUNTS", "/data:/dev:ro"), nil, "nothing may be mounted"},
		"mount up":                {env("MOUNTS", "/data/../etc:/x:ro"), nil, ".."},
		"mount to above":          {env("MOUNTS", "/data:/x/../proc:ro"), nil, ".."},
		"mount at a relative":     {env("MOUNTS", "/data:x:ro"), nil, "absolute"},
		"mount mode":              {env("MOUNTS", "/data:/x:rwx"), nil, "Invalid mount mode"},
		"mount without target":    {env("MOUNTS", "/data"), nil, "Unable to parse"},
		"mount of four parts":     {env("MOUNTS", "/data:/x:ro:z"), nil, "Unable to parse"},
		"two at a place":          {env("MOUNTS", "/data:/x:ro,/data/b:/x/:ro"), nil, "two mounts"},
		"over an administrator's": {env("MOUNTS", "/data:/etc/krb5.conf:ro"), nil, "two mounts"},
		"a resource to write to":  {env("MOUNTS", "job.xml:/x:rw"), nil, "localized resource"},
		"many mounts":             {env("MOUNTS", many(300)), nil, "more than 256"},
		"tmpfs over sys":          {env("TMPFS_MOUNTS", "/sys"), nil, "nothing may be mounted"},
		"default mount":           {env(), func(t *request.Terms) { t.RWMounts = []string{"/x"} }, "default-rw-mounts"},
	} {
		with := terms()
		if c.change != nil {
			c.change(&with)
		}
		s := request.Settings{Kinds: map[string]request.Terms{request.Docker: with}}
		r, err := s.Read(c.env)
		if (c.want == "") != (err == nil) || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %+v, %v; want %q", name, r, err, c.want)
		}
	}
}

func many(n int) string {
	var out []string
	for i := range n {
		out = append(out, fmt.Sprintf("/data:/x%d:ro", i))
	}
	return strings.Join(out, ",")
}

func TestWhatAContainerGets(t *testing.T) {
	s := request.Settings{Kinds: map[string]request.Terms{request.Docker: terms()}}
	r, err := s.Read(env("MOUNTS", "/data/a:/a:ro,/scratch:/s:rw+rshared,job.xml:/j:ro,/data:/b", "TMPFS_MOUNTS", "/run,/tmp", "RUN_OVERRIDE_DISABLE", "true"))
	if err != nil {
		t.Fatal(err)
	}
	want := "[{/etc/krb5.conf /etc/krb5.conf false false} {/data/a /a false false} {/scratch /s true false} {job.xml /j false true} {/data /b true false}]"
	if got := fmt.Sprint(r.Mounts); got != want {
		t.Errorf("mounts %s", got)
	}
	if !r.EntryPoint || r.Network != "host" || r.HostPID || !slices.Equal(r.Capabilities, []string{"CAP_CHOWN"}) || !slices.Equal(r.Tmpfs, []string{"/run", "/tmp"}) {
		t.Errorf("%+v", r)
	}
	for _, other := range []map[string]string{{}, {"YARN_CONTAINER_RUNTIME_TYPE": "default"}, {"YARN_CONTAINER_RUNTIME_TYPE": "runc"}} {
		if r, err := s.Read(other); r != nil || err != nil {
			t.Errorf("%v: %+v, %v", other, r, err)
		}
	}
	s.Usual = "docker"
	if r, err := s.Read(map[string]string{docker + "IMAGE": "busybox"}); err != nil || r == nil {
		t.Errorf("%+v, %v: the node's own setting asks for docker", r, err)
	}
}

func TestMountsThatAreAllowed(t *testing.T) {
	with := terms()
	resolve := func(p string) (string, error) { return strings.Replace(p, "/data", "/mnt/data", 1), nil }
	for _, c := range []struct {
		real        string
		read, write bool
	}{
		{"/mnt/data", true, false},
		{"/mnt/data/x", true, false},
		{"/mnt/database", false, false},
		{"/data", false, false},
		{"/scratch", true, true},
		{"/scratch/a", true, true},
		{"/", false, false},
		{"/etc", false, false},
	} {
		if r, w := with.Allowed(c.real, false, resolve), with.Allowed(c.real, true, resolve); r != c.read || w != c.write {
			t.Errorf("%s: %v, %v", c.real, r, w)
		}
	}
	var closed request.Terms
	if closed.Allowed("/data", false, resolve) {
		t.Error("something is allowed where nothing is set")
	}
}

// Whatever a container asks for, it gets neither root's nor the kernel's places, and no network that isn't allowed.
func FuzzRead(f *testing.F) {
	f.Add("team/x", "/data:/x:ro", "/tmp", "host", "name", "a=b")
	f.Add("team/x", "/data:/proc:ro,/data://:ro", "/dev/../sys", "none", "-", "")
	f.Fuzz(func(t *testing.T, image, mounts, tmpfs, network, host, pid string) {
		s := request.Settings{Kinds: map[string]request.Terms{request.Docker: terms()}}
		r, err := s.Read(env("IMAGE", image, "MOUNTS", mounts, "TMPFS_MOUNTS", tmpfs, "CONTAINER_NETWORK", network, "CONTAINER_HOSTNAME", host, "CONTAINER_PID_NAMESPACE", pid))
		if err != nil {
			return
		}
		targets := slices.Clone(r.Tmpfs)
		for _, m := range r.Mounts {
			targets = append(targets, m.Target)
			if !m.Resource && (!path.IsAbs(m.Source) || path.Clean(m.Source) != m.Source) || m.Resource && m.Write {
				t.Errorf("mount %+v", m)
			}
		}
		for _, target := range targets {
			if path.Clean(target) != target || target == "/" || !path.IsAbs(target) || strings.HasPrefix(target+"/", "/proc/") || strings.HasPrefix(target+"/", "/sys/") || strings.HasPrefix(target+"/", "/dev/") {
				t.Errorf("mount at %q", target)
			}
		}
		if r.Network != "host" || r.HostPID || len(r.Mounts) > 256 || len(r.Tmpfs) > 256 {
			t.Errorf("%+v", r)
		}
	})
}

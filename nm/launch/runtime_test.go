package launch

import "testing"

func TestRuntimesAreChosenAsInYARN(t *testing.T) {
	docker := []Var{{Name: "A", Value: "B"}, {Name: RuntimeType, Value: "docker"}}
	plain := []Var{{Name: RuntimeType, Value: "default"}}
	for name, c := range map[string]struct {
		r   Runtimes
		env []Var
		ok  bool
	}{
		"usual":                        {Runtimes{Allowed: []string{"default"}}, nil, true},
		"in capitals":                  {Runtimes{Allowed: []string{"docker", "DEFAULT"}}, plain, true},
		"docker, which is allowed":     {Runtimes{Allowed: []string{"default", "docker"}}, docker, false},
		"docker only":                  {Runtimes{Allowed: []string{"docker"}}, nil, false},
		"docker by the node's setting": {Runtimes{Allowed: []string{"default"}, Usual: "docker"}, nil, false},
		"default despite the setting":  {Runtimes{Allowed: []string{"default"}, Usual: "docker"}, plain, true},
	} {
		if err := c.r.Check(c.env); (err == nil) != c.ok {
			t.Errorf("%s: %v", name, err)
		}
	}
}

package krb5conf

import (
	"slices"
	"strings"
)

// paths is the section that says by way of which realms clients of one realm get to services of another.
const paths = "capaths"

// capaths returns the values of the section of that name.
func (j *joined) capaths() map[[2]string][]string {
	all := map[[2]string][]string{}
	for _, s := range j.sections {
		if s.name != paths {
			continue
		}
		for _, client := range s.realms {
			for _, line := range client.lines {
				m := relation.FindStringSubmatch(line)
				between := [2]string{client.name, m[1]}
				all[between] = append(all[between], strings.Fields(m[2])...)
			}
		}
	}
	return all
}

// Between returns the realms on the way from a client's realm to another one, the nearest to the client first: those of [capaths], where "." stands for none, or else those between
// them in the hierarchy of their names (RFC 4120 §1.2; MIT: krb5_walk_realm_tree).
func (c *Config) Between(client, service string) []string {
	if values, ok := c.capaths[[2]string{client, service}]; ok {
		return slices.DeleteFunc(slices.Clone(values), func(realm string) bool { return realm == "." || realm == client || realm == service })
	}
	up, down := parents(client), parents(service)
	for i, realm := range up {
		if k := slices.Index(down, realm); k >= 0 {
			down = down[:k]
			slices.Reverse(down)
			return slices.DeleteFunc(append(up[:i+1:i+1], down...), func(realm string) bool { return realm == client || realm == service })
		}
	}
	return nil
}

// parents returns a realm and those above it.
func parents(realm string) []string {
	all := []string{realm}
	for {
		_, above, ok := strings.Cut(realm, ".")
		if !ok {
			return all
		}
		all, realm = append(all, above), above
	}
}

package account

import (
	"fmt"
	"strings"
)

// GroupsExcept returns a function like Groups that takes the groups of some users from overrides instead of the
// machine. The form is that of hadoop.user.group.static.mapping.overrides: user=group,group;user=. For a user with an
// empty list of groups the function returns an error, as Hadoop does.
func (d *Directory) GroupsExcept(overrides string) (func(name string) ([]string, error), error) {
	static := map[string][]string{}
	for part := range strings.SplitSeq(overrides, ";") {
		part = strings.TrimSpace(part)
		if part == "" {
			continue
		}
		name, list, found := strings.Cut(part, "=")
		if name = strings.TrimSpace(name); !found || name == "" || strings.Contains(list, "=") {
			return nil, fmt.Errorf("%q is not USER=GROUP,GROUP", part)
		}
		static[name] = nil
		for group := range strings.SplitSeq(list, ",") {
			if group = strings.TrimSpace(group); group != "" {
				static[name] = append(static[name], group)
			}
		}
	}
	return func(name string) ([]string, error) {
		groups, ok := static[name]
		if !ok {
			return d.Groups(name)
		}
		if len(groups) == 0 {
			return nil, fmt.Errorf("user %q: has no groups by hadoop.user.group.static.mapping.overrides", name)
		}
		return groups, nil
	}, nil
}

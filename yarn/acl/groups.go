package acl

import "os/user"

// Groups returns the groups that this machine has a user in, the primary one first.
func Groups(name string) ([]string, error) {
	u, err := user.Lookup(name)
	if err != nil {
		return nil, err
	}
	ids, err := u.GroupIds()
	if err != nil {
		return nil, err
	}
	var groups []string
	for _, id := range ids {
		if g, err := user.LookupGroupId(id); err == nil {
			groups = append(groups, g.Name)
		}
	}
	return groups, nil
}

// Package places tells where containers are or were, to those who may see their logs.
package places

import (
	"heddle/rm/access"
	"heddle/rm/view"
	"heddle/yarn/acl"
	"heddle/yarn/records"
	yarnrest "heddle/yarn/rest"
	"heddle/yarn/rest/auth"
	"heddle/yarn/rest/logplace"
)

// Finder implements logplace.Finder by the ledger.
type Finder struct {
	View   *view.Viewer
	Access *access.Checker
	// Unnamed reports whether a caller hasn't said who it is, and could.
	Unnamed func(c *yarnrest.Call) bool
}

func caller(c *yarnrest.Call) string { return auth.From(c.Context()).User }

// App implements logplace.Finder.
func (f Finder) App(c *yarnrest.Call, id records.ApplicationID) (logplace.Place, error) {
	user := caller(c)
	a, ok := f.View.App(id)
	p := logplace.Place{User: user, Owner: a.User, Ended: a.State.Ended()}
	switch {
	case !ok:
		return p, logplace.ErrForgotten
	case f.Access.MayView(user, a.Rights()):
		return p, nil
	case f.Unnamed(c):
		return p, yarnrest.Unauthorized("The logs of application %v are shown to users who say who they are (user.name)", id)
	}
	return p, yarnrest.Forbidden("User [%s] is not authorized to view the logs for application %v", user, id)
}

// Container implements logplace.Finder.
func (f Finder) Container(c *yarnrest.Call, id records.ContainerID) (logplace.Place, error) {
	p, err := f.App(c, id.Attempt.App)
	if err != nil {
		return p, err
	}
	node, found := f.nodeOf(id)
	if _, p.Lives = f.View.Container(id); found {
		p.Node = node.String()
		if n, ok := f.View.Node(node); ok {
			p.Web = f.View.URL(n.HTTPAddress())
		}
	}
	return p, nil
}

// nodeOf returns the node of a container, also of an ended one whose times are still known.
func (f Finder) nodeOf(id records.ContainerID) (records.NodeID, bool) {
	if at, ok := f.View.Container(id); ok {
		return at.Node, true
	}
	t, _ := f.View.Timeline(id.Attempt.App)
	for i := range t.Containers {
		if t.Containers[i].ID == id {
			return t.Containers[i].Node, true
		}
	}
	return records.NodeID{}, false
}

// MayView implements logplace.Finder.
func (f Finder) MayView(c *yarnrest.Call, owner, viewers string) bool {
	user := caller(c)
	return !f.Access.Enabled || user == owner || f.Access.Admin(user) || acl.Parse(viewers).Allows(user, f.Access.Groups)
}

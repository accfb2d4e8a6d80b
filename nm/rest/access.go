package rest

import (
	"errors"
	"net/http"

	"heddle/nm/application"
	"heddle/yarn/acl"
	"heddle/yarn/pb"
	"heddle/yarn/rest/auth"
)

// Access decides who may do what.
type Access struct {
	Enabled  bool     // yarn.acl.enable; if it is off, every user may do everything
	Operator string   // the NodeManager's user, who is always an administrator
	Admins   acl.List // yarn.admin.acl
	Groups   func(user string) ([]string, error)
}

// Admits reports whether a user may see or change an application. Its owner, users on its own list, and administrators
// may.
func (a Access) Admits(user string, what pb.ApplicationAccessType, app application.Info) bool {
	switch {
	case !a.Enabled:
		return true
	case user == "":
		return false
	}
	return user == app.User || acl.Parse(app.ACLs[what]).Allows(user, a.Groups) || a.administers(user)
}

func (a Access) administers(user string) bool {
	return user != "" && (user == a.Operator || a.Admins.Allows(user, a.Groups))
}

func caller(r *http.Request) string { return auth.From(r.Context()).User }

func (s *Server) mayView(r *http.Request, app application.Info) bool {
	return s.Access.Admits(caller(r), pb.ApplicationAccessType_APPACCESS_VIEW_APP, app)
}

// mayDiagnose reports whether a user may see a failed container's diagnostics, which contain the end of its logs. If
// the application has left the node, only administrators may.
func (s *Server) mayDiagnose(r *http.Request, app application.Info, here bool) bool {
	if here {
		return s.mayView(r, app)
	}
	return s.mayAdminister(r) == nil
}

func (s *Server) mayModify(r *http.Request, app application.Info) bool {
	return s.Access.Admits(caller(r), pb.ApplicationAccessType_APPACCESS_MODIFY_APP, app)
}

var errNotAdmin = errors.New("only administrators (yarn.admin.acl) may do this")

func (s *Server) mayAdminister(r *http.Request) error {
	if s.Access.Enabled && !s.Access.administers(caller(r)) {
		return errNotAdmin
	}
	return nil
}

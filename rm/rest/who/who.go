// Package who tells web clients who they are, as far as the server knows, and what they may do.
package who

import (
	"net/http"

	"heddle/rm/access"
	"heddle/rm/view"
	"heddle/yarn/records"
	yarnrest "heddle/yarn/rest"
	"heddle/yarn/rest/auth"
)

// Service answers for a ResourceManager.
type Service struct {
	View   *view.Viewer
	Access *access.Checker
	// Proves: users prove who they are, by Kerberos or at an OpenID provider. Else a request's word is taken.
	Proves bool
	// ReadOnly: the queue editor applies nothing.
	ReadOnly bool
	// Forget makes a browser forget its cookie.
	Forget func(http.Header, *http.Request)
}

// Route adds the path below a path.
func (s *Service) Route(api *yarnrest.API, base string) {
	api.Handle(base+"/whoami", yarnrest.Methods{http.MethodGet: {Handle: s.whoami}, http.MethodDelete: {Handle: s.forget}})
}

type whoami struct {
	User   string `yarn:"user"`           // "" if unknown
	Real   string `yarn:"real,omitempty"` // who acts for the user
	Named  bool   `yarn:"named"`          // the request says who makes it; else the user stands for everybody who doesn't
	Method string `yarn:"method"`         // YARN's name of the method of authentication
	Asks   bool   `yarn:"asks"`           // a name is taken at its word: the parameter user.name sets a cookie
	Admin  bool   `yarn:"admin"`
	Queues bool   `yarn:"mayChangeQueues"` // in the queue editor
	Nodes  bool   `yarn:"mayChangeNodes"`  // drain them, change what they offer
	App    *app   `yarn:"app"`
}

// app is what the caller may do with an application.
type app struct {
	ID     string `yarn:"id"`
	View   bool   `yarn:"mayView"`
	Modify bool   `yarn:"mayModify"` // kill, move, change priority and lifetime, suspend its containers
}

// whoami answers GET /whoami.
func (s *Service) whoami(c *yarnrest.Call) (yarnrest.Reply, error) {
	id := auth.From(c.Context())
	out := whoami{User: id.User, Real: id.Real, Named: id.Method != auth.Unnamed, Method: id.Method, Asks: !s.Proves, Admin: s.Access.Admin(id.User)}
	out.Queues = !s.ReadOnly && (out.Admin || !s.Access.Enabled)
	out.Nodes = out.Admin || !s.Access.Enabled
	if text := c.Query().Get("app"); text != "" {
		app, err := s.app(id.User, text)
		if err != nil {
			return yarnrest.Reply{}, err
		}
		out.App = app
	}
	return yarnrest.OK("whoami", yarnrest.Natural, out), nil
}

func (s *Service) app(user, text string) (*app, error) {
	id, err := records.ParseApplicationID(text)
	if err != nil {
		return nil, yarnrest.BadRequest("app is %.60q: %v", text, err)
	}
	a, ok := s.View.App(id)
	if !ok {
		return nil, yarnrest.NotFound("app with id: %v not found", id)
	}
	of := a.Rights()
	return &app{id.String(), s.Access.MayView(user, of), user != "" && s.Access.MayModify(user, of)}, nil
}

// forget answers DELETE /whoami: who asks is unknown from now on, until he says who he is.
func (s *Service) forget(*yarnrest.Call) (yarnrest.Reply, error) {
	return yarnrest.Reply{Serve: func(w http.ResponseWriter, r *http.Request) {
		s.Forget(w.Header(), r)
		w.WriteHeader(http.StatusNoContent)
	}}, nil
}

// Package visit passes requests on to the door (rm/door), gives its refusals the words of REST, and notes in the audit log what administrators change.
package visit

import (
	"errors"
	"fmt"
	"net/http"
	"net/netip"

	"heddle/rm/door"
	yarnrest "heddle/yarn/rest"
	"heddle/yarn/rest/auth"
)

// Visits are those of a web port.
type Visits struct {
	Door    *door.Door
	Admin   func(user string) bool
	User    func(*yarnrest.Call) string // who makes a request
	Refusal func(error) error           // what clients see of a leader's refusal
}

// Caller returns who makes a request.
func (v *Visits) Caller(c *yarnrest.Call) door.Caller {
	at, _ := netip.ParseAddrPort(c.RemoteAddr) // invalid where it isn't known
	return door.Caller{User: v.User(c), Address: at.Addr()}
}

// Refused answers with what the door says. To callers who may not change an application YARN answers in plain text.
func (v *Visits) Refused(c *yarnrest.Call, what string, id any, err error) (yarnrest.Reply, error) {
	var notPermitted *door.NotPermitted
	var noTarget *door.NoSuchTarget
	if errors.As(err, &notPermitted) || errors.As(err, &noTarget) {
		return yarnrest.Say(http.StatusForbidden, "Unauthorized attempt to %s %v by remote user %s", what, id, v.name(c)), nil
	}
	return yarnrest.Reply{}, v.Refusal(err)
}

// name returns who makes a request, by the full name where Kerberos tells it.
func (v *Visits) name(c *yarnrest.Call) string {
	if id := auth.From(c.Context()); id.Full != "" && id.Real == "" {
		return id.Full
	}
	return v.User(c)
}

// Administered answers a request that changes the cluster, and writes what came of it into the audit log, under the name of an administrator's call.
func (v *Visits) Administered(call string, answer yarnrest.Handler) yarnrest.Handler {
	return func(c *yarnrest.Call) (yarnrest.Reply, error) {
		reply, err := answer(c)
		v.Changed(c, call, reply.Status, err)
		return reply, err
	}
}

// Changed writes what came of a request that changes the cluster into the audit log.
func (v *Visits) Changed(c *yarnrest.Call, call string, status int, err error) {
	if err == nil && status >= http.StatusBadRequest {
		err = fmt.Errorf("status %d", status)
	}
	who := v.Caller(c)
	v.Door.Administered(who, call, err != nil && !v.Admin(who.User), err)
}

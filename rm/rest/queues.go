package rest

import (
	"net/http"

	"heddle/rm/queue"
	yarnrest "heddle/yarn/rest"
)

func (s *server) routeQueues(api *yarnrest.API) {
	api.Handle(clusterBase+"/queues/{queue}/access", yarnrest.Methods{http.MethodGet: {Handle: s.queueAccess}})
}

type queueAccess struct {
	Allowed     bool   `yarn:"allowed"`
	User        string `yarn:"user"`
	Diagnostics string `yarn:"diagnostics"`
}

// queueAccess tells a queue's administrators whether a user may submit to it, or administer it.
func (s *server) queueAccess(c *yarnrest.Call) (yarnrest.Reply, error) {
	q := c.Query()
	name, about := c.Var("queue"), q.Get("user")
	tree := s.Queues.Tree()
	if tree.Kind == queue.Fair {
		tree, _ = s.View.QueueUses(tree, s.MinAllocation)
	}
	if !s.Access.OnQueueOf(tree, queue.Administer, caller(c), name) {
		return yarnrest.Reply{}, yarnrest.Forbidden("User=%s doesn't haven access to queue=%s so it cannot check ACLs for other users.",
			caller(c), name)
	}
	if about == "" {
		return yarnrest.Reply{}, yarnrest.Illegal("Null user")
	}
	kind, right := "SUBMIT_APPLICATIONS", queue.Submit
	if given := q.Get("queue-acl-type"); given != "" {
		kind = given
	}
	switch kind {
	case "SUBMIT_APPLICATIONS":
	case "ADMINISTER_QUEUE":
		right = queue.Administer
	default:
		return yarnrest.Reply{}, yarnrest.BadRequest("Specified queueAclType=%s is not a valid type, valid queue acl types="+
			"{SUBMIT_APPLICATIONS/ADMINISTER_QUEUE}", kind)
	}
	out := queueAccess{Allowed: s.Access.OnQueueOf(tree, right, about, name), User: about}
	if !out.Allowed {
		out.Diagnostics = "User=" + about + " doesn't have access to queue=" + name + " with acl-type=" + kind
	}
	return yarnrest.OK("rmQueueAclInfo", yarnrest.Mapped, out), nil
}

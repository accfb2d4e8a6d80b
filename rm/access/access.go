// Package access decides who may see and change what, by YARN's access control lists: those of the cluster, of queues, and
// of applications. rm/service and rm/rest ask the same Checker.
package access

import (
	"strings"
	"sync/atomic"

	"heddle/conf"
	"heddle/rm/queue"
	"heddle/yarn/acl"
	"heddle/yarn/pb"
)

// Checker decides. Its answers follow yarn.acl.enable: without it every user may see and change every application; only administrators may make
// administrative changes. As in YARN, a FairScheduler checks the lists of its queues for submissions even without it, and questions about rights on
// queues are always answered by the lists (Hadoop 3.4.2: FairScheduler.addApplication, AbstractCSQueue and FSQueue.hasAccess).
type Checker struct {
	// Enabled is yarn.acl.enable.
	Enabled bool
	// Admins are the administrators; the user who runs the ResourceManager is one as well.
	Admins acl.List
	Self   string
	Queues *queue.Live
	Groups func(user string) ([]string, error)

	reread atomic.Pointer[acl.List] // replaces Admins after a refresh
}

// Administrators reads the list of the cluster's administrators (yarn.admin.acl).
func Administrators(c *conf.Config) acl.List {
	list, _ := c.Verbatim("yarn.admin.acl")
	return acl.Parse(list)
}

// SetAdmins replaces the list of administrators.
func (c *Checker) SetAdmins(list acl.List) { c.reread.Store(&list) }

// FromConf makes the checker for a configuration. self is the user who runs this process.
func FromConf(c *conf.Config, queues *queue.Live, self string, groups func(string) ([]string, error)) *Checker {
	return &Checker{Enabled: c.Bool("yarn.acl.enable"), Admins: Administrators(c), Self: self, Queues: queues, Groups: groups}
}

// Admin reports whether a user is an administrator of the cluster.
func (c *Checker) Admin(user string) bool {
	admins := c.Admins
	if list := c.reread.Load(); list != nil {
		admins = *list
	}
	return user != "" && user == c.Self || admins.Allows(user, c.Groups)
}

// Application is what decides about access to an application.
type Application struct {
	User, Queue string
	Context     *pb.ApplicationSubmissionContext
}

// MayView reports whether a user may see an application in full.
func (c *Checker) MayView(user string, a Application) bool {
	return c.may(user, a, pb.ApplicationAccessType_APPACCESS_VIEW_APP)
}

// MayModify reports whether a user may change or kill an application.
func (c *Checker) MayModify(user string, a Application) bool {
	return c.may(user, a, pb.ApplicationAccessType_APPACCESS_MODIFY_APP)
}

func (c *Checker) may(user string, a Application, what pb.ApplicationAccessType) bool {
	if !c.Enabled || user == a.User || c.Admin(user) {
		return true
	}
	for _, m := range a.Context.GetAmContainerSpec().GetApplication_ACLs() {
		if m.GetAccessType() == what && acl.Parse(m.GetAcl()).Allows(user, c.Groups) {
			return true
		}
	}
	return c.Queues.Tree().Allows(queue.Administer, a.Queue, user, c.Groups)
}

// MaySubmit reports whether a user may submit to a queue. As in YARN, administrators of the cluster have no such right.
// Every user may submit to an unknown queue: the fate of the application then is not a question of rights. A queue that would be
// created has the lists of its template, and of the queues above it.
func (c *Checker) MaySubmit(user, name string) bool {
	tree := c.Queues.Tree()
	if c.Enabled && tree.Kind == queue.Capacity {
		return tree.MayUse(name, user, c.Groups)
	}
	return !c.Enabled && tree.Kind != queue.Fair || c.mayUse(tree, user, name)
}

// MayMoveTo reports whether a user who may change an application may move it to a queue. With access control no user may move one to a queue that isn't
// there (Hadoop: QueueACLsManager.checkAccess).
func (c *Checker) MayMoveTo(user, name string) bool {
	tree := c.Queues.Tree()
	if _, ok := tree.Find(name); c.Enabled && !ok && tree.Kind != queue.FIFO {
		return false
	}
	return !c.Enabled || c.mayUse(tree, user, name)
}

func (c *Checker) mayUse(tree *queue.Tree, user, name string) bool {
	if _, ok := tree.Find(name); !ok && tree.Kind != queue.Fair {
		return true
	}
	return tree.Allows(queue.Submit, name, user, c.Groups) || tree.Allows(queue.Administer, name, user, c.Groups)
}

// OnQueue reports whether a user has a right on a queue. As in YARN, administrators of the cluster have none.
func (c *Checker) OnQueue(right queue.Right, user, name string) bool {
	return c.OnQueueOf(c.Queues.Tree(), right, user, name)
}

// OnQueueOf is OnQueue for a given tree, such as one with the queues that a FairScheduler created; those have the lists of the queues
// above them. So has an unknown queue below a capacity queue, if it is named by its path (Hadoop: CapacityScheduler.checkAccess).
func (c *Checker) OnQueueOf(tree *queue.Tree, right queue.Right, user, name string) bool {
	if tree.Kind == queue.Capacity && strings.HasPrefix(name, "root.") {
		name = tree.Above(name).Path
	}
	if _, known := tree.Find(name); !known && tree.Kind != queue.FIFO {
		return false
	}
	return tree.Allows(right, name, user, c.Groups)
}

// Rights lists a user's rights on a queue of a tree.
func (c *Checker) Rights(tree *queue.Tree, user, name string) (may []pb.QueueACL) {
	if c.OnQueueOf(tree, queue.Submit, user, name) {
		may = append(may, pb.QueueACL_QACL_SUBMIT_APPLICATIONS)
	}
	if c.OnQueueOf(tree, queue.Administer, user, name) {
		may = append(may, pb.QueueACL_QACL_ADMINISTER_QUEUE)
	}
	return may
}

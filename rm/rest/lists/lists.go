package lists

import (
	"io"
	"net/http"
	"sync"
	"sync/atomic"

	"heddle/conf"
	"heddle/rm/access"
	"heddle/rm/rest/table"
	"heddle/rm/view"
	"heddle/yarn/pb"
	"heddle/yarn/records"
	yarnrest "heddle/yarn/rest"
	"heddle/yarn/rest/auth"
)

// Lists serves the lists of a ResourceManager.
type Lists struct {
	View   *view.Viewer
	Rows   *view.Rows // of View
	Access *access.Checker
	Types  records.ResourceTypes
	// OnlyOwn leaves out applications that the caller may not see in full, instead of hiding what they use (yarn.webapp.filter-entity-list-by-user).
	OnlyOwn bool
	// Leads returns the error that sends a client on if this member doesn't lead: followers lack what isn't in the ledger.
	Leads func() error
	// Container returns what is shown of a live container.
	Container func(*view.Container) any
	// Conf is the configuration of this ResourceManager.
	Conf *conf.Config
	// Hidden refuses callers who didn't say who they are a list that lacks things which they may not see.
	Hidden func(c *yarnrest.Call, missing int, things string) error

	keys     sync.Once
	settings []setting // once keys is done

	alive atomic.Int64 // applications at the last look, which tells how much memory the next one needs
}

// Route adds the lists below a path.
func (l *Lists) Route(api *yarnrest.API, base string) {
	get := func(path string, h yarnrest.Handler) {
		api.Handle(base+path, yarnrest.Methods{http.MethodGet: {Handle: h, Large: true, Shared: true, Gives: table.Formats}})
	}
	get("/apps", l.apps)
	get("/nodes", l.nodes)
	api.Handle(base+"/node-map", yarnrest.Methods{http.MethodGet: {Handle: l.nodeMap, Large: true, Shared: true}})
	get("/containers", l.containers)
	get("/waiting", l.waiting)
	get("/users", l.users)
	get("/configuration", l.configuration)
}

// head begins each list.
type head struct {
	Total   int    `yarn:"total"`   // rows that the caller may know of
	Matched int    `yarn:"matched"` // of them, those that the filters admit
	Before  int    `yarn:"before"`  // of these, those before this page
	Next    string `yarn:"next,omitempty"`
	Prev    string `yarn:"prev,omitempty"`
}

func headOf[R any](total int, p *page[R]) head {
	return head{total, p.matched, p.before, p.next, p.prev}
}

// begin reads a request for a list of the leader, and starts to collect its page.
func begin[R any](l *Lists, c *yarnrest.Call, o offer, x rows[R]) (*picker[R], error) {
	p, err := pick(c, o, x)
	if err == nil {
		err = l.Leads()
	}
	return p, err
}

// pick reads a request for a list, and starts to collect its page.
func pick[R any](c *yarnrest.Call, o offer, x rows[R]) (*picker[R], error) {
	err := table.SetFormat(c)
	var q query
	if err == nil {
		q, err = parseQuery(c.Query(), o)
	}
	var p *picker[R]
	if err == nil {
		if c.Format == yarnrest.CSV && !c.Query().Has("limit") {
			q.limit = maxLimit
		}
		p, err = x.pick(q)
	}
	if err != nil {
		return nil, yarnrest.BadRequest("%v", err)
	}
	return p, nil
}

// answer returns a page with a version, or its rows as a table, which begins with a header that leads to the next page.
func answer[R any](c *yarnrest.Call, root string, p *page[R], rows, value any) (yarnrest.Reply, error) {
	if c.Format != yarnrest.CSV {
		return versioned(root, value), nil
	}
	text := table.Of(rows).Reply().Text
	return yarnrest.Reply{Serve: func(w http.ResponseWriter, r *http.Request) {
		if p.next != "" {
			next := r.URL.Query()
			next.Set("cursor", p.next)
			w.Header().Set("Link", "<?"+next.Encode()+`>; rel="next"`)
		}
		w.Header().Set("Content-Type", yarnrest.CSV.ContentType())
		w.Header().Set("Cache-Control", "private, no-cache")
		_, _ = io.WriteString(w, text) // a lost client can't be told
	}}, nil
}

// versioned returns an answer with a version.
func versioned(root string, value any) yarnrest.Reply {
	r := yarnrest.OK(root, yarnrest.Natural, value)
	r.Versioned = true
	return r
}

// amount is a part of the row of a list that is an amount of resources.
type amount struct {
	MemoryMB int64   `yarn:"memoryMB"`
	VCores   int64   `yarn:"vCores"`
	Others   []other `yarn:"other"` // types besides the standard ones, unless it is 0
}

type other struct {
	Name  string `yarn:"name"`
	Units string `yarn:"units,omitempty"`
	Value int64  `yarn:"value"`
}

// Amounts are an amount of each resource.
type Amounts = amount

// Amount shows an amount of resources as lists do.
func Amount(types records.ResourceTypes, r records.Resource) Amounts {
	return (&Lists{Types: types}).amount(r)
}

func (l *Lists) amount(r records.Resource) amount {
	out := amount{MemoryMB: r.MemoryMB(), VCores: r.VCores()}
	for i := range l.Types.Len() {
		if t := l.Types.At(i); i != records.Memory && i != records.VCores && r[i] != 0 {
			out.Others = append(out.Others, other{t.Name, t.Units, r[i]})
		}
	}
	return out
}

// eyes are what a caller may see. They look each question of a queue up once.
type eyes struct {
	access *access.Checker
	user   string
	all    bool // the caller sees everything
	queues map[string]bool
}

func (l *Lists) eyes(c *yarnrest.Call) *eyes {
	user := auth.From(c.Context()).User
	return &eyes{l.Access, user, !l.Access.Enabled || l.Access.Admin(user), map[string]bool{}}
}

// see reports whether the caller may see an application in full (access.Checker.MayView).
func (e *eyes) see(user, queue string, ctx *pb.ApplicationSubmissionContext) bool {
	if e.all || user == e.user {
		return true
	}
	may, known := e.queues[queue]
	if !known { // without a context it depends on the queue alone
		may = e.access.MayView(e.user, access.Application{User: user, Queue: queue})
		e.queues[queue] = may
	}
	return may || len(ctx.GetAmContainerSpec().GetApplication_ACLs()) > 0 && e.access.MayView(e.user, access.Application{User: user, Queue: queue, Context: ctx})
}

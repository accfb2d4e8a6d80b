package ledger

import "heddle/yarn/records"

// extras holds fields that few containers need. It stands outside of them, as there are hundreds of thousands of containers.
type extras struct {
	held       *records.Resource // what it takes of its node, nil: its claim
	confirmed  *records.Resource // nil: its claim
	suspension *Suspension       // how it was suspended so far, nil: never
	tags       []string
}

// extra returns a container's extras, all zero if it has none.
func (c *Container) extra() extras {
	if c.extras == nil {
		return extras{}
	}
	return *c.extras
}

// setExtras replaces a container's extras.
func (c *Container) setExtras(e extras) {
	if e.held == nil && e.confirmed == nil && e.suspension == nil && len(e.tags) == 0 {
		c.extras = nil
		return
	}
	of := e
	c.extras = &of
}

// Tags returns the tags with which the container was asked for.
func (c *Container) Tags() []string { return c.extra().tags }

// Confirmed returns the part of Resource that the node is known to give it. It is less than Resource after an increase, until
// its ApplicationMaster has brought the node the new token (Hadoop: RMContainerImpl.lastConfirmedResource).
func (c *Container) Confirmed() records.Resource {
	if c.extras == nil || c.extras.confirmed == nil {
		return c.Resource
	}
	return *c.extras.confirmed
}

// setConfirmed changes Confirmed to a part of the container's present claim.
func (c *Container) setConfirmed(part records.Resource) {
	if c.Confirmed() == part && (c.extras == nil || c.extras.confirmed == nil) {
		return
	}
	e := c.extra()
	e.confirmed = nil
	if part != c.Resource {
		e.confirmed = &part
	}
	c.setExtras(e)
}

package failures

import "slices"

// Launches are the hosts on which an application's ApplicationMaster couldn't be launched. The zero value has none.
type Launches struct {
	shunned  []string // for the next ApplicationMaster
	avoided  []string // those of them that are on the application's blacklist now
	misfires int      // launches in a row that nodes have not answered
}

// maxMisfires is how many launches in a row may fail on nodes that don't answer before they count as the application's failures.
const maxMisfires = 10

// Exclude returns the hosts that are to be passed over while an ApplicationMaster's container is pending.
func (l *Launches) Exclude() []string {
	if len(l.shunned) == 0 {
		return nil
	}
	l.avoided = slices.Clone(l.shunned)
	return l.avoided
}

// Admit returns those hosts again: the ApplicationMaster has its container.
func (l *Launches) Admit() []string {
	hosts := l.avoided
	l.avoided = nil
	return hosts
}

// Launched says that a node has launched the ApplicationMaster.
func (l *Launches) Launched() { l.misfires = 0 }

// Failed has the next ApplicationMaster started elsewhere than on a host on which this one has failed, as long as a fifth of the open
// nodes are left (Hadoop: yarn.am.blacklisting.disable-failure-threshold). It reports whether that isn't held against the application.
func (l *Launches) Failed(host string, openNodes int) (excused bool) {
	l.misfires++
	l.shunned = append(l.shunned, host)
	if 5*len(l.shunned) > 4*openNodes {
		l.shunned = nil
	}
	return l.misfires <= maxMisfires
}

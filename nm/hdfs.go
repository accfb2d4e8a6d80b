package nm

import (
	"errors"
	"slices"

	"heddle/hdfsadapter"
	"heddle/nm/application"
	"heddle/yarn/token"
)

// hdfs returns the file systems. With Kerberos the node's own calls are those of its account; users' calls need their tokens.
func (n *NodeManager) hdfs() (*hdfsadapter.Adapter, error) {
	java, stop := javaNode(n).Files()
	n.closing(stop)
	return hdfsadapter.New(n.o.Conf, hdfsadapter.Options{Java: java, Host: n.identity.Host, Log: n.log, Login: func() (hdfsadapter.Login, error) {
		if n.login == nil {
			return nil, errors.New("the node isn't logged in to Kerberos")
		}
		return n.login, nil
	}})
}

// usersView returns file systems as a user sees them, to read ahead for that user's work. On an HDFS with Kerberos it has the tokens of those of the user's
// applications that have containers here, the newest first: an old one's may have been cancelled.
func usersView(n *NodeManager, files *hdfsadapter.Adapter, user string) *hdfsadapter.FS {
	if !files.Secure() {
		return files.As(user)
	}
	apps := n.containers.Applications()
	slices.SortFunc(apps, func(a, b application.Info) int { return b.ID.Compare(a.ID) })
	var tokens []token.Token
	for _, app := range apps {
		if app.User != user {
			continue
		}
		if c, err := token.DecodeCredentials(n.system.For(app.ID, app.Tokens)); err == nil {
			for _, t := range c.Tokens {
				tokens = append(tokens, t.Token)
			}
		}
	}
	return files.As(user, tokens...)
}

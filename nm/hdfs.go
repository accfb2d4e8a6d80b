package nm

import (
	"errors"

	"heddle/hdfsadapter"
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

// usersView returns file systems as a user sees them, to read ahead for that user's work. On an HDFS with Kerberos it has these tokens, and those of the user's applications here.
func usersView(n *NodeManager, files *hdfsadapter.Adapter, user string, named ...token.NamedToken) *hdfsadapter.FS {
	if !files.Secure() {
		return files.As(user)
	}
	tokens := make([]token.Token, 0, len(named))
	for _, t := range named {
		tokens = append(tokens, t.Token)
	}
	return files.As(user, append(tokens, n.system.OfUser(user, n.containers.Applications())...)...)
}

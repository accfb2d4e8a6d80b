package conf

const linuxExecutor = "org.apache.hadoop.yarn.server.nodemanager.LinuxContainerExecutor"

// ContainerUser returns the operating system's user for the containers of a submitter, or "" if that is the
// NodeManager's own user. With Kerberos it is the submitter, whatever nonsecure-mode.limit-users says.
func (c *Config) ContainerUser(submitter string) string {
	const nonsecure = "yarn.nodemanager.linux-container-executor.nonsecure-mode."
	switch {
	case c.Text("yarn.nodemanager.container-executor.class") != linuxExecutor:
		return ""
	case c.Bool(nonsecure+"limit-users") && c.Text("hadoop.security.authentication") != "kerberos":
		return c.Text(nonsecure + "local-user")
	}
	return submitter
}

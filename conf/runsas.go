package conf

const linuxExecutor = "org.apache.hadoop.yarn.server.nodemanager.LinuxContainerExecutor"

// ContainerUser returns the operating system's user for the containers of a submitter, or "" if that is the
// NodeManager's own user.
func (c *Config) ContainerUser(submitter string) string {
	const nonsecure = "yarn.nodemanager.linux-container-executor.nonsecure-mode."
	switch {
	case c.Text("yarn.nodemanager.container-executor.class") != linuxExecutor:
		return ""
	case c.Bool(nonsecure + "limit-users"):
		return c.Text(nonsecure + "local-user")
	}
	return submitter
}

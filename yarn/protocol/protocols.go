package protocol

import "heddle/yarn/ipc"

// The protocols. All are of version 1.
var (
	ApplicationClient   = ipc.Protocol{Name: "org.apache.hadoop.yarn.api.ApplicationClientProtocolPB", Version: 1}
	ApplicationHistory  = ipc.Protocol{Name: "org.apache.hadoop.yarn.api.ApplicationHistoryProtocolPB", Version: 1}
	ApplicationMaster   = ipc.Protocol{Name: "org.apache.hadoop.yarn.api.ApplicationMasterProtocolPB", Version: 1}
	ContainerManagement = ipc.Protocol{Name: "org.apache.hadoop.yarn.api.ContainerManagementProtocolPB", Version: 1}
	ResourceTracker     = ipc.Protocol{Name: "org.apache.hadoop.yarn.server.api.ResourceTrackerPB", Version: 1}
	Administration      = ipc.Protocol{
		Name: "org.apache.hadoop.yarn.server.api.ResourceManagerAdministrationProtocolPB", Version: 1,
	}
	HAService    = ipc.Protocol{Name: "org.apache.hadoop.ha.HAServiceProtocol", Version: 1}
	Localization = ipc.Protocol{
		Name: "org.apache.hadoop.yarn.server.nodemanager.api.LocalizationProtocolPB", Version: 1,
	}
	CollectorNodemanager = ipc.Protocol{
		Name: "org.apache.hadoop.yarn.server.api.CollectorNodemanagerProtocolPB", Version: 1,
	}
	HDFSClient = ipc.Protocol{Name: "org.apache.hadoop.hdfs.protocol.ClientProtocol", Version: 1}
	MetaInfo   = ipc.Protocol{Name: "org.apache.hadoop.ipc.ProtocolMetaInfoPB", Version: 1}

	// ContainerControl is Heddle's own: the ResourceManager's calls to NodeManagers beyond YARN's.
	ContainerControl = ipc.Protocol{Name: "heddle.ContainerControl", Version: 1}
	// LeaderControl is Heddle's own: the ResourceManagers' calls to the leading one.
	LeaderControl = ipc.Protocol{Name: "heddle.LeaderControl", Version: 1}
)

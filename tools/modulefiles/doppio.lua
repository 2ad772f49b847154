-- Environment module (Lmod) for the portable bundle. Unpack doppio-VERSION-linux-x86_64.tar.gz, and name its folder below or in
-- DOPPIO_ROOT, in the environment that loads the module. Install this file as doppio/VERSION.lua in a folder of MODULEPATH; no
-- root is needed:
--
--   mkdir -p ~/modulefiles/doppio && cp doppio.lua ~/modulefiles/doppio/0.1.0.lua
--   module use ~/modulefiles && module load doppio
local root = os.getenv("DOPPIO_ROOT") or pathJoin("/opt/apps/doppio", myModuleVersion())

help([[
doppio trains the networks that Caffe's prototxt files describe. `doppio help` lists its commands; models to begin with are in
$DOPPIO_HOME/models. To train on several machines load an Open MPI beside it, and start doppio by srun or mpirun; to train on NVIDIA
GPUs load CUDA 13, cuDNN 9 and NCCL.
]])
whatis("Name: doppio")
whatis("Version: " .. myModuleVersion())
whatis("Description: trainer for the networks that Caffe's prototxt files describe")

conflict("doppio")
prepend_path("PATH", root)
setenv("DOPPIO_HOME", root)

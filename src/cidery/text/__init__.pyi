from .languages import choose_tokenizer as choose_tokenizer
from .languages import get_language as get_language
from .script_problems import find_script_problems as find_script_problems
from .script_problems import warn_script_problems as warn_script_problems
from .scripts import UNSPACED_SCRIPTS as UNSPACED_SCRIPTS
from .scripts import find_script as find_script

from . import bundled as bundled
from .corpus import Corpus as Corpus
from .corpus import ImageId as ImageId
from .corpus import Rows as Rows
from .ids import index_ids as index_ids
from .inputs import check_captions as check_captions
